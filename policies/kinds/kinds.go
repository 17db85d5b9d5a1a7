package kinds

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/version"
	"sigs.k8s.io/yaml"

	"github.com/lintel-policy/lintel/config/crd"
	"github.com/lintel-policy/lintel/policies/admission"
)

// ErrNotKnown says that what the API server would do is not known without a cluster.
var ErrNotKnown = errors.New("not known without a cluster")

// Kinds are those of Kubernetes, Lintel's own, and those of CustomResourceDefinitions
// that are at hand. It is not for concurrent use.
type Kinds struct {
	definitions map[schema.GroupKind]*apiextensionsv1.CustomResourceDefinition
	embedded    map[string]bool // Lintel's groups that are read; nil if a cluster defines the kinds
	versions    map[schema.GroupVersionKind]*customVersion
}

// New adds definitions to the kinds that are always known. One for a kind of Lintel's
// takes the place of Lintel's own: it is the one that the cluster has.
func New(definitions ...*apiextensionsv1.CustomResourceDefinition) *Kinds {
	k := &Kinds{
		definitions: map[schema.GroupKind]*apiextensionsv1.CustomResourceDefinition{},
		embedded:    map[string]bool{},
		versions:    map[schema.GroupVersionKind]*customVersion{},
	}
	for _, definition := range definitions {
		k.definitions[schema.GroupKind{Group: definition.Spec.Group, Kind: definition.Spec.Names.Kind}] = definition
	}
	return k
}

// NewOfCluster are the kinds that the definitions of a cluster define, and no others: the
// cluster may have another version than the kinds in this program.
func NewOfCluster(definitions ...*apiextensionsv1.CustomResourceDefinition) *Kinds {
	k := New(definitions...)
	k.embedded = nil
	return k
}

// Resources are those that a definition adds to a cluster, in the order in which the
// API server prefers the versions.
func Resources(definition *apiextensionsv1.CustomResourceDefinition) []admission.ServedResource {
	spec := definition.Spec
	if spec.Names.Kind == "" || spec.Names.Plural == "" {
		return nil // the API server refuses it, and no kind comes from it
	}
	versions := served(definition)
	slices.SortStableFunc(versions, func(a, b string) int { return version.CompareKubeAwareVersionStrings(b, a) })
	var out []admission.ServedResource
	for _, name := range versions {
		out = append(out, admission.ServedResource{
			Group: spec.Group, Version: name, Kind: spec.Names.Kind, Name: spec.Names.Plural,
			Namespaced: spec.Scope != apiextensionsv1.ClusterScoped,
		})
	}
	return out
}

// ReadDefinition reads a CustomResourceDefinition in YAML or JSON.
func ReadDefinition(text []byte) (*apiextensionsv1.CustomResourceDefinition, error) {
	definition := &apiextensionsv1.CustomResourceDefinition{}
	if err := yaml.Unmarshal(text, definition); err != nil {
		return nil, fmt.Errorf("reading the CustomResourceDefinition: %w", err)
	}
	return definition, nil
}

// definition is nil for kinds of which none is at hand.
func (k *Kinds) definition(kind schema.GroupKind) (*apiextensionsv1.CustomResourceDefinition, error) {
	if err := k.readEmbedded(kind.Group); err != nil {
		return nil, err
	}
	return k.definitions[kind], nil
}

// Know says whether the fields of a kind's objects are known, so that Arrive checks them.
func (k *Kinds) Know(kind schema.GroupVersionKind) (bool, error) {
	definition, err := k.definition(kind.GroupKind())
	return definition != nil || builtinScheme.Recognizes(kind), err
}

// readEmbedded reads Lintel's definitions of a group, once.
func (k *Kinds) readEmbedded(group string) error {
	if k.embedded == nil || k.embedded[group] {
		return nil
	}
	k.embedded[group] = true
	names, err := fs.Glob(crd.Files, "*/"+group+"_*.yaml")
	if err != nil {
		return nil // the names of all of Lintel's groups match the pattern
	}
	for _, name := range names {
		text, err := crd.Files.ReadFile(name)
		if err != nil {
			return fmt.Errorf("reading the embedded definitions: %w", err)
		}
		definition, err := ReadDefinition(text)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		kind := schema.GroupKind{Group: group, Kind: definition.Spec.Names.Kind}
		if k.definitions[kind] == nil {
			k.definitions[kind] = definition
		}
	}
	return nil
}

// served are the versions of a definition that the API server serves.
func served(definition *apiextensionsv1.CustomResourceDefinition) []string {
	var names []string
	for _, version := range definition.Spec.Versions {
		if version.Served {
			names = append(names, version.Name)
		}
	}
	return names
}

// version is nil for kinds that no definition is at hand of.
func (k *Kinds) version(kind schema.GroupVersionKind) (*customVersion, error) {
	if known, ok := k.versions[kind]; ok {
		return known, nil
	}
	definition, err := k.definition(kind.GroupKind())
	if definition == nil || err != nil {
		return nil, err
	}
	i := slices.IndexFunc(definition.Spec.Versions, func(version apiextensionsv1.CustomResourceDefinitionVersion) bool {
		return version.Name == kind.Version && version.Served
	})
	if i < 0 {
		return nil, fmt.Errorf("%w: %s is not served in %s: write %s", ErrNotKnown, kind.GroupKind(), kind.Version, strings.Join(served(definition), " or "))
	}
	made, err := newCustomVersion(definition, definition.Spec.Versions[i])
	if err != nil {
		return nil, fmt.Errorf("the CustomResourceDefinition of %s: %w", kind.GroupKind(), err)
	}
	k.versions[kind] = made
	return made, nil
}
