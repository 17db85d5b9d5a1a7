package orloj

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	v1 "github.com/lintel-policy/lintel/api/orloj/v1"
	"github.com/lintel-policy/lintel/controllers/orloj/store"
	rules "github.com/lintel-policy/lintel/policies/rules/orloj"
)

// wholeObjects are annotations in which tools store a copy of the object, which for a Secret
// includes its values.
var wholeObjects = map[string]bool{
	"kubectl.kubernetes.io/last-applied-configuration": true,
	"objectset.rio.cattle.io/applied":                  true,
	"kapp.k14s.io/original":                            true,
}

// ownPrefix is the prefix of annotations that only Lintel writes into rows.
const ownPrefix = "lintel.dev/"

// row returns the row of an object. complete is the object in JSON with all defaults.
func row(kind string, object v1.Object, complete json.RawMessage) (*store.Row, error) {
	var read struct {
		Spec map[string]any `json:"spec"`
	}
	decoder := json.NewDecoder(bytes.NewReader(complete))
	decoder.UseNumber()
	if err := decoder.Decode(&read); err != nil {
		return nil, fmt.Errorf("reading the spec: %w", err)
	}
	if read.Spec == nil {
		read.Spec = map[string]any{}
	}
	normalise(kind, read.Spec)
	annotations := map[string]string{}
	for key, value := range object.GetAnnotations() {
		if !wholeObjects[key] && !strings.HasPrefix(key, ownPrefix) {
			annotations[key] = value
		}
	}
	return &store.Row{
		Namespace: rules.Target(object.GetNamespace(), object.GetAnnotations()), Name: object.GetName(),
		SourceNamespace: object.GetNamespace(), Owner: string(object.GetUID()),
		Labels: object.GetLabels(), Annotations: annotations, Spec: read.Spec,
	}, nil
}
