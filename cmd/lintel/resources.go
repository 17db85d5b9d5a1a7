package main

import (
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/lintel-policy/lintel/policies/engine"
)

// resourceTable finds the resource of a kind: a built-in one, one that a
// CustomResourceDefinition at hand defines, or a guess.
type resourceTable struct {
	builtin *engine.Resources
	defined map[schema.GroupKind]engine.Resource
}

// newResourceTable reads the CustomResourceDefinitions among the objects.
func newResourceTable(objects []object) (*resourceTable, error) {
	table := &resourceTable{engine.BuiltinResources(), map[schema.GroupKind]engine.Resource{}}
	for _, o := range objects {
		if o.kind.Group != "apiextensions.k8s.io" || o.kind.Kind != "CustomResourceDefinition" {
			continue
		}
		if err := table.define(o); err != nil {
			return nil, err
		}
	}
	return table, nil
}

func (t *resourceTable) define(o object) error {
	var definition struct {
		Spec struct {
			Group string
			Scope string
			Names struct{ Kind, Plural string }
		}
	}
	text, err := o.json()
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, &definition); err != nil {
		return fmt.Errorf("%s: reading the CustomResourceDefinition: %w", o.origin, err)
	}
	spec := definition.Spec
	if spec.Names.Kind == "" || spec.Names.Plural == "" {
		return nil // the API server refuses it, and no kind comes from it
	}
	t.defined[schema.GroupKind{Group: spec.Group, Kind: spec.Names.Kind}] = engine.Resource{
		Group: spec.Group, Kind: spec.Names.Kind, Name: spec.Names.Plural, Namespaced: spec.Scope != "Cluster",
	}
	return nil
}

// lookup is the resource of a kind in the version of the kind. known is false for a
// guess: most kinds are namespaced.
func (t *resourceTable) lookup(kind schema.GroupVersionKind) (resource engine.Resource, known bool) {
	resource, known = t.builtin.ByKind(kind.Group, kind.Kind)
	if !known {
		resource, known = t.defined[kind.GroupKind()]
	}
	if !known {
		plural, _ := meta.UnsafeGuessKindToResource(kind)
		resource = engine.Resource{Group: kind.Group, Kind: kind.Kind, Name: plural.Resource, Namespaced: true}
	}
	resource.Version = kind.Version
	return resource, known
}

// otherVersions notes the objects whose version the API server would convert before
// it asks, which takes a cluster: a policy sees them here in another shape.
func (t *resourceTable) otherVersions(objects []object) []string {
	var notes []string
	for _, o := range objects {
		preferred, ok := t.builtin.ByKind(o.kind.Group, o.kind.Kind)
		if !ok || preferred.Version == o.kind.Version {
			continue
		}
		version := schema.GroupVersion{Group: preferred.Group, Version: preferred.Version}
		notes = append(notes, fmt.Sprintf("%s: %s is written as %s, which the API server converts to %s before policies see it: write %s to be sure",
			o.origin, o.kind.Kind, o.kind.GroupVersion(), version, version))
	}
	return notes
}
