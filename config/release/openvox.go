package main

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/spf13/cobra"
)

const (
	// openVoxUser is of the group that everything belongs to which a program writes: any
	// other user of it does as well.
	openVoxUser = "1001:0"
	// debianSuite is the Debian release that the packages are of.
	debianSuite = "bookworm"
)

// debianImage is an image of a program of Debian's packages at the paths of OpenVox's own.
type debianImage struct {
	Name, Description string
	// packages are Debian's.
	packages []string
	// helpers are the programs that the image has for Lintel, by their paths.
	helpers map[string]program
	// links lead from the paths of OpenVox's own packages to those of Debian packages.
	links map[string]string
	// files are those that Debian's packages have with other paths in them.
	files map[string]string
	// folders are those that the program writes, or that something is mounted at.
	folders []string
	// entrypoint is the program itself. The JVM takes options from JDK_JAVA_OPTIONS.
	entrypoint []string
	home, port string
}

// openVoxImages are by their names.
var openVoxImages = map[string]debianImage{serverImage.Name: serverImage, databaseImage.Name: databaseImage}

// serverImage has the paths by which a Config is rendered.
var serverImage = debianImage{
	Name: "openvox-server", Description: "A Puppet server without a system Ruby, with Lintel's helpers",
	packages: []string{"puppetserver", "puppet-terminus-puppetdb", "ca-certificates"},
	home:     "/run/puppetserver", port: "8140/tcp",
	helpers: map[string]program{
		"usr/local/bin/lintel-openvox-autosign": {Image: "openvox-autosign", Path: "./cmd/openvox-autosign"},
		"usr/local/bin/lintel-openvox-ca-setup": {Image: "openvox-ca-setup", Path: "./cmd/openvox-ca-setup"},
		"usr/local/bin/lintel-openvox-enc":      {Image: "openvox-enc", Path: "./cmd/openvox-enc"},
		"usr/local/bin/lintel-openvox-report":   {Image: "openvox-report", Path: "./cmd/openvox-report"},
	},
	links: map[string]string{
		"opt/puppetlabs/puppet/lib/ruby/vendor_ruby":                              "/usr/lib/puppetserver/ruby/vendor_ruby",
		"opt/puppetlabs/server/data/puppetserver/vendored-jruby-gems":             "/usr/lib/puppetserver/vendored-jruby-gems",
		"opt/puppetlabs/server/apps/puppetserver/puppet-server-release.jar":       "/usr/share/puppetserver/puppetserver.jar",
		"opt/puppetlabs/server/apps/puppetserver/config/services.d/bootstrap.cfg": "/etc/puppet/puppetserver/services.d/bootstrap.cfg",
		"etc/puppetlabs/puppetserver/services.d/ca.cfg":                           "/etc/puppet/puppetserver/services.d/ca.cfg",
		"etc/puppetlabs/puppetserver/conf.d/web-routes.conf":                      "/etc/puppet/puppetserver/conf.d/web-routes.conf",
	},
	files: map[string]string{
		"etc/puppetlabs/puppetserver/conf.d/global.conf": "global: { logging-config: /etc/puppetlabs/puppetserver/logback.xml }\n",
	},
	folders: []string{
		"etc/puppetlabs/", "etc/puppetlabs/code/", "etc/puppetlabs/code/environments/", "etc/puppetlabs/code/environments/production/", "etc/puppetlabs/lintel/",
		"etc/puppetlabs/puppet/", "etc/puppetlabs/puppet/crl/", "etc/puppetlabs/puppet/ssl/",
		"etc/puppetlabs/puppetserver/", "etc/puppetlabs/puppetserver/ca/", "etc/puppetlabs/puppetserver/conf.d/", "etc/puppetlabs/puppetserver/services.d/",
		"opt/puppetlabs/", "opt/puppetlabs/puppet/", "opt/puppetlabs/puppet/cache/", "opt/puppetlabs/puppet/lib/", "opt/puppetlabs/puppet/lib/ruby/", "opt/puppetlabs/puppet/lib/ruby/vendor_gems/",
		"opt/puppetlabs/server/", "opt/puppetlabs/server/apps/", "opt/puppetlabs/server/apps/puppetserver/", "opt/puppetlabs/server/apps/puppetserver/config/", "opt/puppetlabs/server/apps/puppetserver/config/services.d/",
		"opt/puppetlabs/server/data/", "opt/puppetlabs/server/data/puppetserver/", "opt/puppetlabs/server/data/puppetserver/jruby-gems/",
		"run/puppetlabs/", "run/puppetserver/", "var/cache/openvox-enc/", "var/log/puppetlabs/", "var/log/puppetlabs/puppet/", "var/log/puppetlabs/puppetserver/", "var/spool/", "var/spool/openvox-report/",
	},
	entrypoint: []string{
		"/usr/bin/java", "-Djruby.logger.class=com.puppetlabs.jruby_utils.jruby.Slf4jLogger", "-Djruby.lib=/usr/share/jruby/lib",
		"-jar", "/opt/puppetlabs/server/apps/puppetserver/puppet-server-release.jar", "--config", "/etc/puppetlabs/puppetserver/conf.d",
		"--bootstrap-config", "/opt/puppetlabs/server/apps/puppetserver/config/services.d/,/etc/puppetlabs/puppetserver/services.d/",
	},
}

// databaseImage has the paths by which a Database is rendered.
var databaseImage = debianImage{
	Name: "openvox-db", Description: "A PuppetDB",
	// The second package does not ask for a database during its installation.
	packages: []string{"puppetdb", "dbconfig-no-thanks", "ca-certificates"},
	home:     "/run/puppetlabs", port: "8081/tcp",
	links: map[string]string{"etc/puppetlabs/puppetdb/bootstrap.cfg": "/etc/puppetdb/bootstrap.cfg"},
	folders: []string{
		"etc/puppetlabs/", "etc/puppetlabs/lintel/", "etc/puppetlabs/puppetdb/", "etc/puppetlabs/puppetdb/conf.d/", "etc/puppetlabs/puppetdb/ssl/",
		"opt/puppetlabs/", "opt/puppetlabs/server/", "opt/puppetlabs/server/data/", "opt/puppetlabs/server/data/puppetdb/", "run/puppetlabs/", "var/log/puppetlabs/",
	},
	entrypoint: []string{
		"/usr/bin/java", "-cp", "/usr/share/puppetdb/puppetdb.jar", "clojure.main", "-m", "puppetlabs.puppetdb.core", "services",
		"--config", "/etc/puppetlabs/puppetdb/conf.d", "--bootstrap-config", "/etc/puppetlabs/puppetdb/bootstrap.cfg",
	},
}

// leftOut are the unused paths of Debian's packages: documentation, and the system's Ruby,
// because JRuby has its own libraries. The code of Puppet itself stays, in vendor_ruby.
var leftOut = []string{
	"usr/share/doc/", "usr/share/man/", "usr/share/info/", "usr/share/locale/", "usr/share/lintian/", "usr/lib/locale/",
	"var/cache/", "var/lib/apt/", "var/log/", "dev/", "proc/", "sys/",
	"usr/bin/puppet-", "usr/bin/facter", "usr/bin/hiera", "usr/bin/ruby", "usr/bin/gem", "usr/bin/erb", "usr/bin/irb", "usr/bin/bundle", "usr/bin/rake", "usr/bin/rdoc", "usr/bin/ri",
	"usr/lib/ruby/3", "usr/lib/ruby/gems/", "usr/lib/x86_64-linux-gnu/ruby/", "usr/lib/aarch64-linux-gnu/ruby/", "usr/lib/x86_64-linux-gnu/libruby", "usr/lib/aarch64-linux-gnu/libruby",
}

func newOpenVoxCommand() *cobra.Command {
	m := maker{}
	var platforms []string
	var packages, layerOnly, name string
	cmd := &cobra.Command{
		Use:   "openvox FOLDER",
		Short: "Make an image of a Puppet server, or of PuppetDB, as an OCI layout in a folder",
		Long: `Make an image as an OCI layout in a folder, from Debian's packages, which mmdebstrap
fetches: ` + serverImage.Name + `, a Puppet server without a system Ruby, with Lintel's helpers, for CAs
and for catalogs, or ` + databaseImage.Name + `, a PuppetDB. What it holds depends on the day that the packages
are fetched.

With --layer, only what stands on the packages is made, as a tar file, for a Dockerfile.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			image, ok := openVoxImages[name]
			if !ok {
				return fmt.Errorf("--image=%s is none of %s", name, strings.Join(slices.Sorted(maps.Keys(openVoxImages)), " and "))
			}
			if (len(args) == 1) == (layerOnly != "") {
				return errors.New("name either a folder or a file with --layer")
			}
			if err := m.prepare(cmd.Context(), platforms, cmd.ErrOrStderr()); err != nil {
				return err
			}
			if len(m.platforms) != 1 {
				return errors.New("the packages are those of one platform: say --platform once")
			}
			scratch, err := os.MkdirTemp("", "lintel-openvox-")
			if err != nil {
				return err
			}
			defer os.RemoveAll(scratch)
			if layerOnly != "" {
				return m.writeOpenVoxLayer(cmd.Context(), image, layerOnly, scratch)
			}
			one, err := m.openVox(cmd.Context(), image, packages, scratch)
			if err != nil {
				return err
			}
			return writeLayout(args[0], []made{one}, m.Version)
		},
	}
	addFlags(cmd, &m, &platforms, "linux/amd64")
	cmd.Flags().StringVar(&name, "image", serverImage.Name, "`image` to make: "+strings.Join(slices.Sorted(maps.Keys(openVoxImages)), " or "))
	cmd.Flags().StringVar(&packages, "packages", "", "take the packages from this tar `file` of an earlier run, or write it where there is none")
	cmd.Flags().StringVar(&layerOnly, "layer", "", "write the layer with the helpers and paths to this `file`, and nothing else")
	return cmd
}

// openVox builds the image: a layer with the packages, and one with Lintel's files. The sources
// of the layers are in scratch.
func (m *maker) openVox(ctx context.Context, of debianImage, packages, scratch string) (made, error) {
	if packages == "" {
		packages = filepath.Join(scratch, "packages.tar")
	}
	if err := m.fetchPackages(ctx, of, packages); err != nil {
		return made{}, err
	}
	system := filepath.Join(scratch, "system.tar")
	if err := filterPackages(packages, system); err != nil {
		return made{}, fmt.Errorf("%s: %w", packages, err)
	}
	own := filepath.Join(scratch, "own.tar")
	if err := m.writeOpenVoxLayer(ctx, of, own, scratch); err != nil {
		return made{}, err
	}
	p := program{Image: of.Name, Description: of.Description}
	platform := m.platforms[0]
	image, err := mutate.ConfigFile(mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON), &v1.ConfigFile{
		Created: v1.Time{Time: m.created}, OS: platform.OS, Architecture: platform.Architecture, Variant: platform.Variant,
		RootFS: v1.RootFS{Type: "layers"},
		Config: v1.Config{
			User: openVoxUser, WorkingDir: "/", Entrypoint: of.entrypoint, Labels: m.annotations(p),
			// A user that /etc/passwd does not know has no other.
			Env:          []string{"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=" + of.home, "LANG=C.UTF-8"},
			ExposedPorts: map[string]struct{}{of.port: {}},
		},
	})
	if err != nil {
		return made{}, err
	}
	for _, file := range []struct{ tar, by string }{{system, "Debian " + debianSuite + ": " + of.packages[0]}, {own, "The paths of OpenVox's packages, and Lintel's helpers"}} {
		layer, err := tarball.LayerFromFile(file.tar, tarball.WithMediaType(types.OCILayer))
		if err != nil {
			return made{}, err
		}
		if image, err = mutate.Append(image, mutate.Addendum{Layer: layer, MediaType: types.OCILayer, History: v1.History{CreatedBy: file.by, Created: v1.Time{Time: m.created}}}); err != nil {
			return made{}, err
		}
	}
	image = mutate.Annotations(image, m.annotations(p)).(v1.Image)
	index := mutate.AppendManifests(mutate.IndexMediaType(empty.Index, types.OCIImageIndex), mutate.IndexAddendum{Add: image, Descriptor: v1.Descriptor{Platform: &platform}})
	return made{program: p, index: mutate.Annotations(index, m.annotations(p)).(v1.ImageIndex)}, nil
}

// fetchPackages writes the packages to a tar file, unless it is there.
func (m *maker) fetchPackages(ctx context.Context, of debianImage, file string) error {
	if info, err := os.Stat(file); err == nil && info.Size() > 0 {
		return nil
	}
	mmdebstrap, err := exec.LookPath("mmdebstrap")
	if err != nil {
		return errors.New("mmdebstrap is missing, which fetches Debian's packages: apt-get install mmdebstrap")
	}
	fmt.Fprintf(m.progress, "fetching %s and what it needs of Debian %s, 600 MB, one to three minutes …\n", of.packages[0], debianSuite)
	unfinished := file + ".part"
	defer os.Remove(unfinished)
	cmd := exec.CommandContext(ctx, mmdebstrap, "--quiet", "--variant=essential", "--include="+strings.Join(of.packages, ","),
		"--architectures="+m.platforms[0].Architecture, "--format=tar", debianSuite, unfinished)
	cmd.Stdout, cmd.Stderr = m.progress, m.progress
	cmd.Env = append(os.Environ(), fmt.Sprintf("SOURCE_DATE_EPOCH=%d", m.created.Unix()))
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("mmdebstrap: %w", err)
	}
	return os.Rename(unfinished, file)
}

// filterPackages copies the needed files. Their owner is root, and their group is that of the
// program; no file has a setuid or setgid bit.
func filterPackages(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	return writeTar(to, func(w *tar.Writer) error {
		r := tar.NewReader(in)
		for {
			header, err := r.Next()
			if errors.Is(err, io.EOF) {
				return nil
			}
			if err != nil {
				return err
			}
			clean := func(name string) string { return strings.TrimPrefix(strings.TrimPrefix(name, "./"), "/") }
			name := clean(header.Name)
			if name == "" || !isKept(name) || header.Typeflag == tar.TypeLink && !isKept(clean(header.Linkname)) {
				continue
			}
			if header.Typeflag == tar.TypeLink {
				header.Linkname = clean(header.Linkname)
			}
			kept := &tar.Header{
				Typeflag: header.Typeflag, Name: name, Linkname: header.Linkname, Size: header.Size, ModTime: header.ModTime,
				Mode: header.Mode &^ 0o6000, Devmajor: header.Devmajor, Devminor: header.Devminor,
			}
			if err := w.WriteHeader(kept); err != nil {
				return err
			}
			if _, err := io.Copy(w, r); err != nil {
				return err
			}
		}
	})
}

func isKept(name string) bool {
	for _, prefix := range leftOut {
		if name != prefix && strings.HasPrefix(name, prefix) {
			return false
		}
	}
	return name != "usr/bin/puppet"
}

// writeOpenVoxLayer writes the files on top of the packages, for packages of Debian and others.
func (m *maker) writeOpenVoxLayer(ctx context.Context, of debianImage, file, scratch string) error {
	return writeTar(file, func(w *tar.Writer) error {
		add := func(header tar.Header, content []byte) error {
			header.ModTime, header.Size = m.created, int64(len(content))
			if err := w.WriteHeader(&header); err != nil {
				return err
			}
			_, err := w.Write(content)
			return err
		}
		for _, folder := range of.folders {
			if err := add(tar.Header{Typeflag: tar.TypeDir, Name: folder, Mode: 0o775}, nil); err != nil {
				return err
			}
		}
		for _, name := range slices.Sorted(maps.Keys(of.links)) {
			if err := add(tar.Header{Typeflag: tar.TypeSymlink, Name: name, Linkname: of.links[name], Mode: 0o777}, nil); err != nil {
				return err
			}
		}
		for _, name := range slices.Sorted(maps.Keys(of.files)) {
			if err := add(tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o664}, []byte(of.files[name])); err != nil {
				return err
			}
		}
		for _, name := range slices.Sorted(maps.Keys(of.helpers)) {
			built, err := m.build(ctx, of.helpers[name], m.platforms[0], scratch)
			if err != nil {
				return err
			}
			content, err := os.ReadFile(built)
			if err != nil {
				return err
			}
			if err := add(tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o755}, content); err != nil {
				return err
			}
		}
		return nil
	})
}

func writeTar(file string, fill func(*tar.Writer) error) error {
	out, err := os.Create(file)
	if err != nil {
		return err
	}
	w := tar.NewWriter(out)
	return errors.Join(fill(w), w.Close(), out.Close())
}
