// Package sources reads the policies that a command line names, and compiles them like the gate
// of a cluster.
package sources

import (
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/lintel-policy/lintel/cmd/lintel/manifests"
	"github.com/lintel-policy/lintel/policies/cel"
	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/gatekeeper"
	"github.com/lintel-policy/lintel/policies/source"
)

// Source is a source with the place it was read from.
type Source struct {
	definition.Source
	// Origin is the path of the source, or the PolicySource and where it stands.
	Origin string
	// Folder is where the files of the source are; empty where they are in an object.
	Folder string
	// file and line are where its PolicySource stands, for one that is in an object.
	file string
	line int
	// unread are policies in the folder that are not files of the source.
	unread definition.CompileErrorList
	// unchecked says why the references were not checked; empty where they were.
	unchecked string
	// leftOut are the files of a partial source that are not evaluated.
	leftOut []source.LeftOut
}

// Read reads the sources at the paths. Names, where there are any, are those of the paths,
// each a folder or a file.
func Read(paths, names []string) ([]Source, error) { return readAll(paths, names, readPath) }

func readAll(paths, names []string, readOne func(path string) ([]Source, error)) ([]Source, error) {
	var read [][]Source // without files that have PolicyExceptions only
	for _, path := range paths {
		found, err := readOne(path)
		if err != nil {
			return nil, err
		}
		if len(found) > 0 {
			read = append(read, found)
		}
	}
	if len(names) > 0 && len(names) != len(read) {
		return nil, fmt.Errorf("--name is specified %d times, and -p %d times: specify a name for each -p, in their order, or none", len(names), len(read))
	}
	var sources []Source
	for i, found := range read {
		if len(names) > 0 {
			if err := found[0].rename(names[i]); err != nil {
				return nil, err
			}
		}
		sources = append(sources, found...)
	}
	origins := map[string]string{}
	for _, s := range sources {
		if other, ok := origins[s.Name]; ok {
			return nil, fmt.Errorf("%s and %s are both named %q, and a message could not tell them apart: give each a name with --name, once for each -p and in their order", other, s.Origin, s.Name)
		}
		origins[s.Name] = s.Origin
	}
	if len(sources) == 0 && len(paths) > 0 {
		return nil, fmt.Errorf("there are no policies in %s: give their folder or PolicySource with another -p", strings.Join(paths, ", "))
	}
	return sources, nil
}

// Place is where a policy of the source stands, as the user can open it: its file and line,
// or those of the PolicySource that holds it. The file is empty where it is in no file.
func (s Source) Place(at definition.Location) (file string, line int) {
	if s.Folder == "" {
		return s.file, s.line
	}
	return filepath.Join(s.Folder, filepath.FromSlash(at.File)), at.Line
}

// rename gives the source of a folder or a file the name that its PolicySource will have.
func (s *Source) rename(name string) error {
	if s.Folder == "" {
		return fmt.Errorf("--name names the source of a folder or .rego file: %s has a name of its own", s.Origin)
	}
	s.Name = name
	return CheckName(name)
}

// maxNameLength is what the API server takes: see PolicySource in the API.
const maxNameLength = 63

// CheckName checks what the API server asks of the name of a PolicySource.
func CheckName(name string) error {
	reasons := validation.IsDNS1123Subdomain(name)
	if len(name) > maxNameLength {
		reasons = []string{fmt.Sprintf("it is longer than %d characters", maxNameLength)}
	}
	if len(reasons) > 0 {
		return fmt.Errorf("%q cannot be the name of a PolicySource: %s; choose another with --name", name, reasons[0])
	}
	return nil
}

// readPath reads a folder, a Rego file, or a file of PolicySources.
func readPath(path string) ([]Source, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, fmt.Errorf("reading policies: %w", err)
	case info.IsDir():
		return readFolder(path)
	case filepath.Ext(path) == ".rego", holdsTemplates(path):
		return readFile(path)
	case manifests.IsManifest(path):
		return readPolicySources(path)
	default:
		return nil, fmt.Errorf("%s is not policy: -p takes a folder, a .rego file, or YAML with PolicySources, ConstraintTemplates, admission policies of Kubernetes or ValidatingPolicies of Kyverno", path)
	}
}

// holdsTemplates says whether a file holds templates of Gatekeeper or admission policies
// themselves, not in a PolicySource.
func holdsTemplates(file string) bool {
	objects, err := manifests.ReadPath(file)
	return err == nil && manifests.IsManifest(file) &&
		slices.ContainsFunc(objects, func(o manifests.Object) bool {
			return o.Kind.Group == "templates.gatekeeper.sh" || o.Kind.Group == "policies.kyverno.io" || cel.IsPolicyKind(o.Kind.Group, o.Kind.Kind)
		}) &&
		!slices.ContainsFunc(objects, isPolicySource)
}

// readFolder is the folder as one source, named after it.
func readFolder(folder string) ([]Source, error) {
	files, err := source.ReadFolder(folder, definition.IsPolicyFile, source.MaxArtifactBytes)
	if err != nil {
		return nil, err
	}
	absolute, err := filepath.Abs(folder)
	if err != nil {
		return nil, fmt.Errorf("reading the folder %s: %w", folder, err)
	}
	read := Source{Source: definition.Source{Name: filepath.Base(absolute), Files: files, AdmissionPolicies: true}, Origin: folder, Folder: folder}
	// Errors are about files that nothing reads.
	if others, err := source.ReadFolder(folder, isOtherJSON, source.MaxArtifactBytes); err == nil {
		read.unread = source.UnreadJSON(others)
	}
	if !hasPolicies(files) {
		return nil, read.Without("policies", "there is no .rego file, no ConstraintTemplate, no admission policy of Kubernetes and no ValidatingPolicy of Kyverno in it; name a file of PolicySources itself", slices.Concat(source.PassedOver(files), read.unread))
	}
	return []Source{read}, nil
}

// isOtherJSON reports whether a file in JSON is not a file of a source.
func isOtherJSON(name string) bool {
	return path.Ext(name) == ".json" && !definition.IsPolicyFile(name)
}

// hasPolicies reports whether files contain a policy.
func hasPolicies(files map[string]string) bool {
	return slices.ContainsFunc(slices.Collect(maps.Keys(files)), func(name string) bool {
		return path.Ext(name) == ".rego" || gatekeeper.IsPolicyFile(name, files[name]) || cel.IsPolicyFile(name, files[name])
	})
}

// readFile is the file as one source, named after it.
func readFile(file string) ([]Source, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("reading policies: %w", err)
	}
	name := filepath.Base(file)
	read := definition.Source{Name: strings.TrimSuffix(name, filepath.Ext(name)), Files: map[string]string{name: string(text)}, AdmissionPolicies: true}
	return []Source{{Source: read, Origin: file, Folder: filepath.Dir(file)}}, nil
}
