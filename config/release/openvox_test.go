package main

import (
	"archive/tar"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/validate"
	"github.com/stretchr/testify/require"
)

// packagesOf writes a tar file as mmdebstrap does; a name that ends in a slash is a folder,
// and one with an arrow a link.
func packagesOf(t *testing.T, names ...string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "packages.tar")
	require.NoError(t, writeTar(file, func(w *tar.Writer) error {
		for _, name := range names {
			header := tar.Header{Typeflag: tar.TypeReg, Name: "./" + name, Mode: 0o4750, Uid: 7, Gid: 8, Uname: "puppet", Size: 1}
			if from, to, ok := strings.Cut(name, " -> "); ok {
				header = tar.Header{Typeflag: tar.TypeLink, Name: "./" + from, Linkname: "./" + to, Mode: 0o755}
			} else if strings.HasSuffix(name, "/") {
				header.Typeflag, header.Size = tar.TypeDir, 0
			}
			if err := w.WriteHeader(&header); err != nil {
				return err
			}
			if _, err := w.Write(make([]byte, header.Size)); err != nil {
				return err
			}
		}
		return nil
	}))
	return file
}

func TestFilterPackages(t *testing.T) {
	from := packagesOf(t, "etc/puppet/", "etc/puppet/puppet.conf", "usr/bin/su", "usr/bin/ruby3.1", "usr/bin/puppet", "usr/bin/puppetserver", "usr/share/doc/", "usr/share/doc/x",
		"usr/lib/ruby/vendor_ruby/puppet.rb", "usr/lib/ruby/3.1.0/set.rb", "proc/", "proc/1", "usr/bin/perl5 -> usr/bin/su", "usr/bin/rub -> usr/bin/ruby3.1")
	to := filepath.Join(t.TempDir(), "system.tar")
	require.NoError(t, filterPackages(from, to))
	in, err := os.Open(to)
	require.NoError(t, err)
	defer in.Close()
	var names []string
	for r := tar.NewReader(in); ; {
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		names = append(names, header.Name)
		require.Zero(t, header.Uid+header.Gid, "a server is of group 0")
		require.Zero(t, header.Mode&0o6000, "nothing gives rights to who runs it")
	}
	require.Equal(t, []string{"etc/puppet/", "etc/puppet/puppet.conf", "usr/bin/su", "usr/bin/puppetserver", "usr/share/doc/", "usr/lib/ruby/vendor_ruby/puppet.rb", "proc/", "usr/bin/perl5"}, names)

	require.NoError(t, os.WriteFile(from, []byte("no tar file at all"), 0o600))
	require.Error(t, filterPackages(from, to))
}

// TestOpenVoxImages makes the images from packages that are none, with the real helpers.
func TestOpenVoxImages(t *testing.T) {
	testOpenVoxImage(t, serverImage, "Dockerfile")
	testOpenVoxImage(t, databaseImage, "db.Dockerfile")

	// No file is overwritten, and one artifact is built at a time.
	folder := t.TempDir()
	for _, args := range [][]string{{"openvox"}, {"openvox", folder, "--layer", "x"}, {"openvox", "--packages", packagesOf(t), folder}, {"openvox", "--image", "other", "--packages", packagesOf(t), filepath.Join(folder, "other")}} {
		cmd := newCommand()
		cmd.SetArgs(args)
		require.Error(t, cmd.ExecuteContext(t.Context()), args)
	}
}

func testOpenVoxImage(t *testing.T, of debianImage, dockerfileName string) {
	t.Helper()
	folder := filepath.Join(t.TempDir(), "image")
	cmd := newCommand()
	cmd.SetArgs([]string{"openvox", "--image", of.Name, "--version", "v1.2.3", "--packages", packagesOf(t, "etc/puppet/", "usr/bin/java"), folder})
	require.NoError(t, cmd.ExecuteContext(t.Context()))
	index, err := layout.ImageIndexFromPath(folder)
	require.NoError(t, err)
	require.NoError(t, validate.Index(index))
	manifest, err := index.IndexManifest()
	require.NoError(t, err)
	require.Equal(t, "localhost/"+of.Name+":v1.2.3", manifest.Manifests[0].Annotations["io.containerd.image.name"])
	inner, err := index.ImageIndex(manifest.Manifests[0].Digest)
	require.NoError(t, err)
	platforms, err := inner.IndexManifest()
	require.NoError(t, err)
	image, err := inner.Image(platforms.Manifests[0].Digest)
	require.NoError(t, err)
	config, err := image.ConfigFile()
	require.NoError(t, err)
	require.Equal(t, "1001:0", config.Config.User)
	dockerfile, err := os.ReadFile("../openvox-image/" + dockerfileName)
	require.NoError(t, err)
	require.Contains(t, string(dockerfile), `ENTRYPOINT ["`+strings.Join(config.Config.Entrypoint, `", "`)+`"]`, "the Dockerfile makes the same image")

	modes := map[string]int64{}
	content := mutate.Extract(image)
	defer content.Close()
	for r := tar.NewReader(content); ; {
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		modes[header.Name] = header.Mode
	}
	for helper := range of.helpers {
		require.EqualValues(t, 0o755, modes[helper], helper)
	}
	for _, written := range of.folders {
		require.EqualValues(t, 0o775, modes[strings.TrimSuffix(written, "/")], written)
	}
}
