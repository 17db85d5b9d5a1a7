package main

import (
	"encoding/json"
	"fmt"

	"github.com/lintel-policy/lintel/policies/clusterdata"
)

// clusterData is what policies read by requires: the objects of --cluster.
func clusterData(objects []object, resources *resourceTable) (*clusterdata.Objects, error) {
	origins := map[string]string{}
	texts := make([]json.RawMessage, len(objects))
	for i := range objects {
		o := &objects[i]
		if o.name == "" {
			return nil, fmt.Errorf("%s: %s has no metadata.name, which objects of a cluster have", o.origin, o.kind.Kind)
		}
		// The scope of a kind that is not known is told by the object itself.
		if resource, known := resources.lookup(o.kind); known {
			o.place(resource, defaultNamespace)
		}
		key := fmt.Sprintf("%s %s/%s", o.kind.GroupKind(), o.namespace, o.name)
		if other, ok := origins[key]; ok {
			return nil, fmt.Errorf("%s: %s %s is at %s, too: keep one", o.origin, o.kind.Kind, o.name, other)
		}
		origins[key] = o.origin
		var err error
		if texts[i], err = o.json(); err != nil {
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
func namespaces(cluster, manifests []object) (map[string][]byte, error) {
	found := map[string][]byte{}
	for _, objects := range [][]object{cluster, manifests} {
		for _, o := range objects {
			if !o.isNamespace() || o.name == "" {
				continue
			}
			text, err := o.json()
			if err != nil {
				return nil, err
			}
			found[o.name] = text
		}
	}
	return found, nil
}
