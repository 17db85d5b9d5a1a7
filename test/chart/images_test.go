package chart

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/lintel-policy/lintel/test/artifact"
	"github.com/lintel-policy/lintel/test/installation"
	"github.com/lintel-policy/lintel/test/puppetca"
)

// makeManager writes the manager's image of a checkout, as a version, to a folder.
func makeManager(folder, checkout, version string, flags ...string) error {
	return output("../../config/release", nil, append([]string{"go", "run", ".", "image", folder, "--source", checkout,
		"--only", "lintel-manager", "--platform", "linux/" + runtime.GOARCH, "--version", version}, flags...)...)
}

// makePresent writes the manager's image of this checkout to a folder, with the race detector
// if the programs under test have it.
func makePresent(folder string) error {
	var flags []string
	if installation.Raced() {
		flags = []string{"--race"}
	}
	return makeManager(folder, "../..", present, flags...)
}

// makePuppetImages writes the image of servers as two versions, that of PuppetDB, and two
// images of code to a folder.
func makePuppetImages(ctx context.Context, folder, scratch string) error {
	to, err := layout.Write(folder, empty.Index)
	if err != nil {
		return err
	}
	add := func(image v1.Image, name string) error {
		return to.AppendImage(image, layout.WithAnnotations(map[string]string{"io.containerd.image.name": name}))
	}
	server, err := openVoxImage(ctx, "openvox-server", puppetca.Server, scratch)
	if err != nil {
		return err
	}
	database, err := openVoxImage(ctx, "openvox-db", puppetca.Database, scratch)
	if err != nil {
		return err
	}
	if err := errors.Join(add(server, puppetImage+":"+stable), add(server, puppetImage+":"+canary), add(database, databaseImage+":"+stable)); err != nil {
		return err
	}
	for _, version := range []string{"1", "2"} {
		code, err := imageOf(map[string]string{"production/manifests/site.pp": fmt.Sprintf(`
notify { "compiled from code %s for ${trusted['certname']}, ${role}": }
class classified { notify { 'classified': } }
`, version)})
		if err != nil {
			return err
		}
		if err := add(code, codeImage+":"+version); err != nil {
			return err
		}
	}
	return nil
}

// openVoxImage makes an image from Debian's packages, which are fetched once. Its program does
// not compile itself when it starts: a layer has its jar with the namespaces compiled, which are
// compiled once for the packages, in a system that has them.
func openVoxImage(ctx context.Context, name string, program puppetca.Program, scratch string) (v1.Image, error) {
	folder := filepath.Join(scratch, name)
	release := func(packages string) error {
		return errors.Join(os.RemoveAll(folder), output("../../config/release", nil, "go", "run", ".", "openvox", folder, "--image", name,
			"--packages", packages, "--platform", "linux/"+runtime.GOARCH, "--version", stable))
	}
	source, err := os.ReadFile("../../config/release/openvox.go") // which packages
	if err != nil {
		return nil, err
	}
	packages, err := artifact.File(name+"-packages.tar", runtime.GOARCH+" "+string(source), release)
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(folder); err != nil {
		if err := release(packages); err != nil {
			return nil, err
		}
	}
	jar, err := artifact.File(name+".jar", packages+" 1", func(path string) error { // the name has the digest
		system := filepath.Join(scratch, name+"-system")
		defer os.RemoveAll(system)
		if err := os.Mkdir(system, 0o755); err != nil {
			return err
		}
		if err := output(".", nil, "tar", "--extract", "--file", packages, "--directory", system); err != nil {
			return err
		}
		return program.Compile(ctx, system, path)
	})
	if err != nil {
		return nil, err
	}
	image, err := only(folder)
	if err != nil {
		return nil, err
	}
	content, err := os.ReadFile(jar)
	if err != nil {
		return nil, err
	}
	layer, err := layerOf(map[string]string{program.Jar[1:]: string(content)})
	if err != nil {
		return nil, err
	}
	return mutate.Append(image, mutate.Addendum{Layer: layer, MediaType: types.OCILayer})
}

// only is the image in a folder with one.
func only(folder string) (v1.Image, error) {
	index, err := layout.ImageIndexFromPath(folder)
	if err != nil {
		return nil, err
	}
	for {
		manifest, err := index.IndexManifest()
		if err != nil {
			return nil, err
		}
		if len(manifest.Manifests) != 1 {
			return nil, fmt.Errorf("%s has %d images, not one", folder, len(manifest.Manifests))
		}
		one := manifest.Manifests[0]
		if !one.MediaType.IsIndex() {
			return index.Image(one.Digest)
		}
		if index, err = index.ImageIndex(one.Digest); err != nil {
			return nil, err
		}
	}
}

// layerOf is a layer of files, which is not compressed.
func layerOf(files map[string]string) (v1.Layer, error) {
	var content bytes.Buffer
	w, folders := tar.NewWriter(&content), map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		var above []string
		for dir := path.Dir(name); dir != "." && !folders[dir]; dir = path.Dir(dir) {
			folders[dir] = true
			above = append(above, dir)
		}
		slices.Reverse(above)
		for _, dir := range above {
			if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: dir + "/", Mode: 0o755}); err != nil {
				return nil, err
			}
		}
		if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o644, Size: int64(len(files[name]))}); err != nil {
			return nil, err
		}
		if _, err := io.WriteString(w, files[name]); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(content.Bytes())), nil },
		tarball.WithMediaType(types.OCILayer), tarball.WithCompressionLevel(0))
}

// imageOf is an image of files.
func imageOf(files map[string]string) (v1.Image, error) {
	layer, err := layerOf(files)
	if err != nil {
		return nil, err
	}
	image, err := mutate.Append(mutate.MediaType(empty.Image, types.OCIManifestSchema1), mutate.Addendum{Layer: layer, MediaType: types.OCILayer})
	if err != nil {
		return nil, err
	}
	config, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	config = config.DeepCopy()
	config.OS, config.Architecture = "linux", runtime.GOARCH
	return mutate.ConfigFile(mutate.ConfigMediaType(image, types.OCIConfigJSON), config)
}
