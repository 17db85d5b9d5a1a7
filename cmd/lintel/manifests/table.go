package manifests

import (
	"fmt"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/kinds"
)

// Table finds the resource of a kind: a built-in one, one that a CustomResourceDefinition at
// hand defines, or a guess.
type Table struct {
	*admission.Resources
	Kinds *kinds.Kinds
	// Serves says who serves the kinds of the table, for messages.
	Serves string
}

// NewTable reads the CustomResourceDefinitions among the objects.
func NewTable(objects []Object) (*Table, error) {
	var definitions []*apiextensionsv1.CustomResourceDefinition
	var defined []admission.ServedResource
	for _, o := range objects {
		if o.Kind.Group != apiextensionsv1.GroupName || o.Kind.Kind != "CustomResourceDefinition" {
			continue
		}
		text, err := o.JSON()
		if err != nil {
			return nil, err
		}
		definition, err := kinds.ReadDefinition(text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", o.Origin, err)
		}
		definitions, defined = append(definitions, definition), append(defined, kinds.Resources(definition)...)
	}
	return &Table{admission.BuiltinResourcesWith(defined...), kinds.New(definitions...), "Kubernetes 1.36, with the CustomResourceDefinitions at hand,"}, nil
}

// Lookup is the resource of a kind in the version of the kind. known is false for a
// guess: most kinds are namespaced.
func (t *Table) Lookup(kind schema.GroupVersionKind) (resource admission.ServedResource, known bool) {
	resource, known = t.ByKind(kind.Group, kind.Kind)
	if !known {
		plural, _ := meta.UnsafeGuessKindToResource(kind)
		resource = admission.ServedResource{Group: kind.Group, Kind: kind.Kind, Name: plural.Resource, Namespaced: true}
	}
	resource.Version = kind.Version
	return resource, known
}

// Unserved returns why a cluster with the kinds of the table does not serve a kind; empty if it
// does, or if another CRD may define it.
func (t *Table) Unserved(kind schema.GroupVersionKind) string {
	versions := t.Versions(kind.Group, kind.Kind)
	switch {
	case slices.Contains(versions, kind.Version):
		return ""
	case len(versions) > 0:
		return fmt.Sprintf("%s serves %s in %s, not in %s: write apiVersion %s", t.Serves, kind.Kind, strings.Join(versions, " and "), kind.Version,
			schema.GroupVersion{Group: kind.Group, Version: versions[0]})
	case !isOfKubernetes(kind):
		return ""
	default:
		return fmt.Sprintf("no matches for kind %q in version %q: %s has none%s", kind.Kind, kind.GroupVersion(), t.Serves, t.Suggest(kind.Group, kind.Kind))
	}
}

// isOfKubernetes says whether a kind can only be one of Kubernetes' own: its group is one
// that Kubernetes serves, or has no dot, which a CustomResourceDefinition's must have. Other
// projects have groups below k8s.io, too: there it is one that Kubernetes has in another.
func isOfKubernetes(kind schema.GroupVersionKind) bool {
	return !strings.Contains(kind.Group, ".") || slices.ContainsFunc(admission.KubernetesResources(), func(known admission.ServedResource) bool {
		return known.Group == kind.Group || known.Kind == kind.Kind && strings.HasSuffix(kind.Group, ".k8s.io")
	})
}

// Unchecked returns a note about objects of kinds whose fields are unknown; empty if there are
// none.
func (t *Table) Unchecked(objects []Object) (string, error) {
	var names []string
	for _, o := range objects {
		known, err := t.Kinds.Know(o.Kind)
		if err != nil {
			return "", err
		}
		if !known && !isOfKubernetes(o.Kind) {
			names = append(names, o.Kind.GroupKind().String()+t.suggestGroup(o.Kind))
		}
	}
	if len(names) == 0 {
		return "", nil
	}
	slices.Sort(names)
	return fmt.Sprintf("the fields of %s are not checked: give the CustomResourceDefinition among the manifests or with --cluster", strings.Join(slices.Compact(names), ", ")), nil
}

// suggestGroup names the group that was likely meant, where it has the kind.
func (t *Table) suggestGroup(kind schema.GroupVersionKind) string {
	if _, known := t.Lookup(kind); known {
		return ""
	}
	var groups []string
	for _, known := range t.All() {
		if known.Kind == kind.Kind {
			groups = append(groups, known.Group)
		}
	}
	if near := admission.Nearest(kind.Group, groups); near != "" {
		return fmt.Sprintf(" (did you mean the group %s?)", near)
	}
	return ""
}
