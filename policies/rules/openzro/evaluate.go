package openzro

import (
	"context"
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/lintel-policy/lintel/api/openzro/v1"
	"github.com/lintel-policy/lintel/policies/engine"
	"github.com/lintel-policy/lintel/policies/rules"
)

// Evaluate evaluates the rules for a stored object; the Go type has the name of the kind.
func Evaluate(ctx context.Context, snapshot *engine.Snapshot, object rules.Object, facts Facts) (rules.Verdict, error) {
	kind := reflect.TypeOf(object).Elem().Name()
	version := v1.SchemeGroupVersion
	return rules.Ask(ctx, snapshot, rules.Question{
		Kind:     metav1.GroupVersionKind{Group: version.Group, Version: version.Version, Kind: kind},
		Resource: ResourceOf(kind), Object: object, Facts: facts,
	})
}
