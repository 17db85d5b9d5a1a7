package review

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/lintel-policy/lintel/cmd/lintel/manifests"
	"github.com/lintel-policy/lintel/policies/clusterdata"
	"github.com/lintel-policy/lintel/policies/engine"
)

// clusterData is what policies read by requires: the objects of --cluster.
func clusterData(objects []manifests.Object, resources *manifests.Table) (*clusterdata.Objects, error) {
	origins := map[string]string{}
	texts := make([]json.RawMessage, len(objects))
	for i := range objects {
		o := &objects[i]
		if o.Name == "" {
			return nil, fmt.Errorf("%s: %s has no metadata.name, which objects of a cluster have", o.Origin, o.Kind.Kind)
		}
		// Of a kind that is not known, the object itself says whether it is namespaced.
		if resource, known := resources.Lookup(o.Kind); known {
			o.SetNamespace(resource.Namespaced, defaultNamespace)
		}
		key := fmt.Sprintf("%s %s/%s", o.Kind.GroupKind(), o.Namespace, o.Name)
		if other, ok := origins[key]; ok {
			return nil, fmt.Errorf("%s: %s %s is at %s, too: keep one", o.Origin, o.Kind.Kind, o.Name, other)
		}
		origins[key] = o.Origin
		var err error
		if texts[i], err = o.JSON(); err != nil {
			return nil, err
		}
	}
	data, err := clusterdata.New(texts)
	if err != nil {
		return nil, fmt.Errorf("reading the objects of --cluster: %w", err)
	}
	return data, nil
}

// namespaces are the Namespace objects at hand, by name. Those of the manifests win:
// they are about to replace the cluster's.
func namespaces(existing, given []manifests.Object) (map[string]engine.Namespace, error) {
	found := map[string]engine.Namespace{}
	for _, o := range slices.Concat(existing, given) {
		if !o.IsNamespace() || o.Name == "" {
			continue
		}
		text, err := o.JSON()
		if err != nil {
			return nil, err
		}
		if found[o.Name], err = engine.ReadNamespace(text); err != nil {
			return nil, fmt.Errorf("%s: %w", o.Origin, err)
		}
	}
	return found, nil
}
