package main

import (
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2"
	"oras.land/oras-go/v2/content/memory"
	"oras.land/oras-go/v2/registry/remote"
	"oras.land/oras-go/v2/registry/remote/auth"
	"oras.land/oras-go/v2/registry/remote/credentials"
	"oras.land/oras-go/v2/registry/remote/retry"
	"sigs.k8s.io/yaml"
)

// The media types of Helm's charts, see its documentation of registries.
const (
	chartConfigType  = "application/vnd.cncf.helm.config.v1+json"
	chartContentType = "application/vnd.cncf.helm.chart.content.v1.tar+gzip"
)

// chart is a folder of config/chart.
type chart struct {
	Name, Description string
	// Image is the one whose repository its values have: empty where it is not of the release.
	Image string
}

var allCharts = []chart{
	{Name: "lintel", Description: "Lintel's Helm chart", Image: "lintel-manager"},
	{Name: "openvox-stack", Description: "The Helm chart of a Puppet installation"},
}

// released is what a release says in place of what matches, once in a file.
type released struct{ file, from, to string }

// chartFiles are a chart's files by their names, with the targets of symbolic links, and with
// the version and the registry of the release.
func (m *maker) chartFiles(c chart, registry string) (map[string][]byte, error) {
	files := map[string][]byte{}
	root := filepath.Join(m.Folder, "config/chart", c.Name)
	var read func(below string) error
	read = func(below string) error {
		entries, err := os.ReadDir(filepath.Join(root, below))
		if err != nil {
			return err
		}
		for _, e := range entries {
			file := path.Join(below, e.Name())
			info, err := os.Stat(filepath.Join(root, file))
			if err != nil {
				return err
			}
			if info.IsDir() {
				if err := read(file); err != nil {
					return err
				}
			} else if path.Ext(file) != ".go" {
				if files[file], err = os.ReadFile(filepath.Join(root, file)); err != nil {
					return err
				}
			}
		}
		return nil
	}
	if err := read(""); err != nil {
		return nil, fmt.Errorf("reading: %w", err)
	}
	all := []released{
		{"Chart.yaml", `(?m)^version: .*$`, "version: " + strings.TrimPrefix(m.Version, "v")},
		{"Chart.yaml", `(?m)^appVersion: .*$`, "appVersion: " + m.Version},
	}
	if c.Image != "" {
		all = append(all, released{"values.yaml", `(?m)^  repository: .*$`, "  repository: " + registry + "/" + c.Image})
	}
	for _, r := range all {
		pattern := regexp.MustCompile(r.from)
		if len(pattern.FindAllIndex(files[r.file], -1)) != 1 {
			return nil, fmt.Errorf("%s does not have one line %s", r.file, r.from)
		}
		files[r.file] = pattern.ReplaceAllLiteral(files[r.file], []byte(r.to))
	}
	return files, nil
}

// chartArchive is what "helm package" makes of files, but the same each time.
func (m *maker) chartArchive(c chart, files map[string][]byte) ([]byte, error) {
	all := map[string]packed{}
	for file, content := range files {
		all[c.Name+"/"+file] = packed{content, 0o644}
	}
	return m.tarGz(all)
}

// pushCharts pushes the charts to REGISTRY/charts, where helm install takes them from, and
// gives their references by digest.
func (p pusher) pushCharts(ctx context.Context, registry string, m *maker) ([]string, error) {
	var references []string
	for _, c := range allCharts {
		reference, err := p.pushChart(ctx, registry, m, c)
		if err != nil {
			return nil, fmt.Errorf("chart %s: %w", c.Name, err)
		}
		references = append(references, reference)
	}
	return references, nil
}

func (p pusher) pushChart(ctx context.Context, registry string, m *maker, c chart) (string, error) {
	files, err := m.chartFiles(c, registry)
	if err != nil {
		return "", err
	}
	archive, err := m.chartArchive(c, files)
	if err != nil {
		return "", err
	}
	config, err := yaml.YAMLToJSON(files["Chart.yaml"])
	if err != nil {
		return "", err
	}
	store := memory.New()
	configured, err := oras.PushBytes(ctx, store, chartConfigType, config)
	if err != nil {
		return "", err
	}
	layer, err := oras.PushBytes(ctx, store, chartContentType, archive)
	if err != nil {
		return "", err
	}
	annotations := m.annotations(program{Image: c.Name, Description: c.Description})
	annotations[ocispec.AnnotationVersion] = strings.TrimPrefix(m.Version, "v")
	manifest, err := oras.PackManifest(ctx, store, oras.PackManifestVersion1_0, "", oras.PackManifestOptions{
		ConfigDescriptor: &configured, Layers: []ocispec.Descriptor{layer}, ManifestAnnotations: annotations,
	})
	if err != nil {
		return "", err
	}
	target, err := remote.NewRepository(registry + "/charts/" + c.Name)
	if err != nil {
		return "", fmt.Errorf("%q is no registry to push to: %w", registry, err)
	}
	known, err := credentials.NewStoreFromDocker(credentials.StoreOptions{})
	if err != nil {
		return "", err
	}
	target.PlainHTTP = p.Insecure
	target.Client = &auth.Client{Client: retry.DefaultClient, Cache: auth.NewCache(), Credential: credentials.Credential(known)}
	if err := oras.CopyGraph(ctx, store, target, manifest, oras.DefaultCopyGraphOptions); err != nil {
		return "", fmt.Errorf("pushing: %w", err)
	}
	digest := v1.Hash{Algorithm: manifest.Digest.Algorithm().String(), Hex: manifest.Digest.Encoded()}
	repository, err := name.NewRepository(registry+"/charts/"+c.Name, p.names()...)
	if err != nil {
		return "", err
	}
	if err := p.pushSignature(ctx, repository, digest); err != nil {
		return "", err
	}
	if err := target.Tag(ctx, manifest, strings.TrimPrefix(m.Version, "v")); err != nil {
		return "", fmt.Errorf("tagging: %w", err)
	}
	return repository.Digest(digest.String()).Name(), nil
}
