package gatekeeper

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/lintel-policy/lintel/policies/admission"
)

// syncedAt is where objects that fill data.inventory list kinds.
var syncedAt = map[schema.GroupKind][]string{
	{Group: "config.gatekeeper.sh", Kind: "Config"}:   {"spec", "sync", "syncOnly"},
	{Group: "syncset.gatekeeper.sh", Kind: "SyncSet"}: {"spec", "gvks"},
}

// withoutUnserved returns a Config or SyncSet without the kinds that the cluster does not serve, and
// a message that names these: "" if there are none. As in Gatekeeper, constraints are enforced with the
// objects of the other kinds, and the status of the object names the missing kinds.
func withoutUnserved(object unstructured.Unstructured, resources *admission.Resources) (_ unstructured.Unstructured, why string) {
	at, lists := syncedAt[object.GroupVersionKind().GroupKind()]
	if !lists {
		return object, ""
	}
	kinds, found, err := unstructured.NestedSlice(object.Object, at...)
	if err != nil || !found {
		return object, "" // the dialect reports other types than a list
	}
	var served []any
	var missing []string
	for i, one := range kinds {
		fields, _ := one.(map[string]any)
		group, _ := fields["group"].(string)
		kind, _ := fields["kind"].(string)
		_, known := resources.ByKind(group, kind)
		if known || kind == "" || kind == "*" || group == "*" { // the dialect reports patterns
			served = append(served, one)
			continue
		}
		missing = append(missing, fmt.Sprintf("%s[%d]: the cluster has no kind %s%s", strings.Join(at, "."), i,
			admission.GroupVersionKind{Group: group, Kind: kind}, resources.Suggest(group, kind)))
	}
	if len(missing) == 0 {
		return object, ""
	}
	out := *object.DeepCopy()
	if err := unstructured.SetNestedSlice(out.Object, served, at...); err != nil {
		return object, err.Error()
	}
	return out, strings.Join(missing, "; ") + "; data.inventory has no objects of it until its CustomResourceDefinition is installed"
}
