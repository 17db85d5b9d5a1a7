package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"sigs.k8s.io/yaml"
)

// libraryFolder is the library of policies, below the checkout.
const libraryFolder = "config/library"

// policyArtifact is a part of the library, as PolicySources and lintel policy add read it.
type policyArtifact struct {
	// Repository is its name below the registry.
	Repository, Description string
	Files                   map[string]packed
}

// bundle is a file of the folder bundles.
type bundle struct {
	Title    string   `json:"title"`
	Policies []string `json:"policies"`
}

// libraryArtifacts are the whole library, and one artifact for each bundle.
func (m *maker) libraryArtifacts() ([]policyArtifact, error) {
	files, err := m.libraryFiles()
	if err != nil {
		return nil, err
	}
	whole := policyArtifact{"library", "Lintel's policy library", files}
	all := []policyArtifact{whole}
	for _, file := range slices.Sorted(maps.Keys(files)) {
		if path.Dir(file) != "bundles" {
			continue
		}
		var b bundle
		if err := yaml.Unmarshal(files[file].content, &b); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		selected, err := b.files(files)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		selected[file] = files[file]
		all = append(all, policyArtifact{"library/" + strings.TrimSuffix(path.Base(file), ".yaml"), b.Title, selected})
	}
	if len(all) == 1 {
		return nil, errors.New("the library has no bundles")
	}
	return all, nil
}

// files are the folders of the policies of a bundle, and the packages that policies share.
func (b bundle) files(all map[string]packed) (map[string]packed, error) {
	selected := map[string]packed{}
	for _, policy := range b.Policies {
		found := false
		for file, content := range all {
			if strings.Count(file, "/") == 2 && path.Base(path.Dir(file)) == policy {
				selected[file], found = content, true
			}
		}
		if !found {
			return nil, fmt.Errorf("the library has no policy %q", policy)
		}
	}
	for file, content := range all {
		if path.Dir(file) == "shared" {
			selected[file] = content
		}
	}
	return selected, nil
}

// libraryFiles are the files of the library without the Go tests.
func (m *maker) libraryFiles() (map[string]packed, error) {
	root := filepath.Join(m.Folder, libraryFolder)
	files := map[string]packed{}
	err := filepath.WalkDir(root, func(file string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(file) == ".go" {
			return err
		}
		content, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(root, file)
		files[filepath.ToSlash(relative)] = packed{content, 0o644}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("reading the library: %w", err)
	}
	return files, nil
}

// pushLibrary pushes the library to REGISTRY/library, and its bundles to
// REGISTRY/library/BUNDLE, and returns their references by digest.
func (p pusher) pushLibrary(ctx context.Context, registry string, m *maker) ([]string, error) {
	artifacts, err := m.libraryArtifacts()
	if err != nil {
		return nil, err
	}
	var references []string
	for _, artifact := range artifacts {
		reference, err := p.pushPolicies(ctx, registry, m, artifact)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", artifact.Repository, err)
		}
		references = append(references, reference)
	}
	return references, nil
}

func (p pusher) pushPolicies(ctx context.Context, registry string, m *maker, artifact policyArtifact) (string, error) {
	tag, err := name.NewTag(registry+"/"+artifact.Repository+":"+m.Version, p.names()...)
	if err != nil {
		return "", fmt.Errorf("%q is not a registry to push to: %w", registry, err)
	}
	image, err := m.policyImage(artifact)
	if err != nil {
		return "", err
	}
	digest, err := image.Digest()
	if err != nil {
		return "", err
	}
	repository, client := tag.Context(), clientOptions(ctx)
	if err := remote.Write(repository.Digest(digest.String()), image, client...); err != nil {
		return "", fmt.Errorf("pushing %s: %w", tag, err)
	}
	if err := p.pushSignature(ctx, repository, digest); err != nil {
		return "", err
	}
	if err := remote.Tag(tag, image, client...); err != nil {
		return "", fmt.Errorf("tagging %s: %w", tag, err)
	}
	return repository.Digest(digest.String()).Name(), nil
}

// policyImage is an artifact with one layer: a gzipped tarball of the files.
func (m *maker) policyImage(artifact policyArtifact) (v1.Image, error) {
	archive, err := m.tarGz(artifact.Files)
	if err != nil {
		return nil, err
	}
	image := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	image, err = mutate.Append(image, mutate.Addendum{Layer: static.NewLayer(archive, types.OCILayer), MediaType: types.OCILayer})
	if err != nil {
		return nil, err
	}
	annotations := m.annotations(program{Image: path.Base(artifact.Repository), Description: artifact.Description})
	return mutate.Annotations(image, annotations).(v1.Image), nil
}
