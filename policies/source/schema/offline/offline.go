// Package offline knows the kinds of Kubernetes itself without a cluster, from the Go
// types of the version that Lintel is built with.
package offline

import (
	"context"
	"reflect"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/runtime"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/source/schema"
)

// Kinds are those of Kubernetes, and of CustomResourceDefinitions that are at hand.
type Kinds struct {
	definitions []*schema.Definition
}

// NewKinds adds the kinds of definitions to those of Kubernetes.
func NewKinds(definitions ...*schema.Definition) *Kinds { return &Kinds{definitions: definitions} }

// Schemas are those of kinds; where a kind names no version, that of all its versions
// together. Kinds that are not known are left out.
func (k *Kinds) Schemas(_ context.Context, kinds []admission.GroupVersionKind) map[admission.GroupVersionKind]*schema.Schema {
	known := map[admission.GroupVersionKind]*schema.Schema{}
	for _, kind := range kinds {
		found := k.defined(kind)
		if len(found) == 0 {
			found = builtin(kind)
		}
		if len(found) > 0 {
			known[kind] = schema.Union(found...)
		}
	}
	return known
}

func (k *Kinds) defined(kind admission.GroupVersionKind) []*schema.Schema {
	var found []*schema.Schema
	for _, definition := range k.definitions {
		if definition.Group != kind.Group || definition.Kind != kind.Kind {
			continue
		}
		for version, known := range definition.Versions {
			if kind.Version == "" || kind.Version == version {
				found = append(found, known)
			}
		}
	}
	return found
}

// types are the Go types of kinds that are stored, by group and kind.
var types = sync.OnceValue(func() map[runtimeschema.GroupKind]map[string]reflect.Type {
	byKind := map[runtimeschema.GroupKind]map[string]reflect.Type{}
	for kind, t := range scheme.Scheme.AllKnownTypes() {
		if _, hasMetadata := t.FieldByName("ObjectMeta"); !hasMetadata || kind.Version == runtime.APIVersionInternal {
			continue
		}
		if byKind[kind.GroupKind()] == nil {
			byKind[kind.GroupKind()] = map[string]reflect.Type{}
		}
		byKind[kind.GroupKind()][kind.Version] = t
	}
	return byKind
})

func builtin(kind admission.GroupVersionKind) []*schema.Schema {
	versions := types()[runtimeschema.GroupKind{Group: kind.Group, Kind: kind.Kind}]
	names := make([]string, 0, len(versions))
	for version := range versions {
		if kind.Version == "" || kind.Version == version {
			names = append(names, version)
		}
	}
	slices.Sort(names)
	var found []*schema.Schema
	for _, version := range names {
		found = append(found, schema.OfKindType(versions[version]))
	}
	return found
}
