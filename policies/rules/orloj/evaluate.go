package orloj

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/lintel-policy/lintel/api/orloj/v1"
	"github.com/lintel-policy/lintel/policies/rules"
)

// Evaluate evaluates the rules for a stored object, whose type is named as its kind. namespace
// is its Namespace in JSON.
func (r *Rules) Evaluate(ctx context.Context, object rules.Object, namespace json.RawMessage, mapping Mapping) (rules.Verdict, error) {
	kind := reflect.TypeOf(object).Elem().Name()
	text, err := json.Marshal(object)
	if err != nil {
		return rules.Verdict{}, fmt.Errorf("writing %s %s: %w", kind, object.GetName(), err)
	}
	read, err := ReadObject(text, "")
	if err != nil {
		return rules.Verdict{}, err
	}
	read.Kind = kind
	version := v1.SchemeGroupVersion
	return rules.Ask(ctx, r.For(read), rules.Question{
		Kind:     metav1.GroupVersionKind{Group: version.Group, Version: version.Version, Kind: kind},
		Resource: ResourceOf(kind),
		Object:   object, Namespace: namespace,
		Facts: Facts{Mapping: mapping, Target: read.Target()},
	})
}
