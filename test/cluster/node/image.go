package main

import (
	"archive/tar"
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// writeImages writes an image for each name, which holds one program and nothing
// else, as its entry point.
func writeImages(folder string, images []string) error {
	path, err := layout.Write(folder, empty.Index)
	if err != nil {
		return fmt.Errorf("creating the layout: %w", err)
	}
	for _, image := range images {
		name, program, found := strings.Cut(image, "=")
		if !found {
			return fmt.Errorf("%q is not NAME=PROGRAM", image)
		}
		made, err := imageOf(program)
		if err != nil {
			return fmt.Errorf("making an image of %s: %w", program, err)
		}
		// The annotation from which containerd reads the whole name.
		named := layout.WithAnnotations(map[string]string{"io.containerd.image.name": name})
		if err := path.AppendImage(made, named); err != nil {
			return fmt.Errorf("writing the image %s: %w", name, err)
		}
	}
	return nil
}

func imageOf(program string) (v1.Image, error) {
	content, err := os.ReadFile(program)
	if err != nil {
		return nil, err
	}
	path := "/" + filepath.Base(program)
	layer, err := layerOf(path, content)
	if err != nil {
		return nil, err
	}
	base := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	image, err := mutate.AppendLayers(base, static.NewLayer(layer, types.OCIUncompressedLayer))
	if err != nil {
		return nil, err
	}
	config, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	config = config.DeepCopy()
	config.OS, config.Architecture = "linux", runtime.GOARCH
	config.Config = v1.Config{Entrypoint: []string{path}}
	return mutate.ConfigFile(image, config)
}

// layerOf is not compressed: nothing is transferred, and compressing takes longer
// than all the rest.
func layerOf(path string, content []byte) ([]byte, error) {
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	if err := w.WriteHeader(&tar.Header{Name: path[1:], Mode: 0o755, Size: int64(len(content))}); err != nil {
		return nil, err
	}
	if _, err := w.Write(content); err != nil {
		return nil, err
	}
	err := w.Close()
	return out.Bytes(), err
}

func push(ctx context.Context, folder, reference string) error {
	ref, err := name.ParseReference(reference)
	if err != nil {
		return fmt.Errorf("naming the image: %w", err)
	}
	index, err := layout.ImageIndexFromPath(folder)
	if err != nil {
		return fmt.Errorf("reading %s: %w", folder, err)
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		return fmt.Errorf("reading %s: %w", folder, err)
	}
	if len(manifest.Manifests) != 1 {
		return fmt.Errorf("%s holds %d images; one can be pushed", folder, len(manifest.Manifests))
	}
	image, err := index.Image(manifest.Manifests[0].Digest)
	if err != nil {
		return fmt.Errorf("reading %s: %w", folder, err)
	}
	if err := remote.Write(ref, image, remote.WithContext(ctx)); err != nil {
		return fmt.Errorf("pushing %s: %w", reference, err)
	}
	return nil
}
