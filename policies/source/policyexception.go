package source

import (
	"fmt"

	"github.com/lintel-policy/lintel/api/policy/v1alpha1"
	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/exception"
	"github.com/lintel-policy/lintel/policies/hierarchy"
)

// FromPolicyException is the engine's view of a PolicyException. Fields that the API server would
// default may be empty. The error names a field that the API server accepts and that cannot be
// used.
func FromPolicyException(object *v1alpha1.PolicyException) (*exception.Exception, error) {
	spec := object.Spec
	one := exception.Exception{
		Name:       object.Name,
		Scope:      hierarchy.Scope{Level: hierarchy.Level(spec.Scope.Level), Name: spec.Scope.Name}.Key(),
		Source:     spec.Source,
		Policy:     spec.Policy,
		Rule:       string(spec.Rule),
		Namespaces: spec.Match.Namespaces,
		Names:      spec.Match.Names,
		Selector:   spec.Match.Selector,
		Containers: spec.Containers,
		Images:     spec.Images,
		Reason:     spec.Reason,
		Expires:    spec.ExpiresAt.Time,
	}
	for _, kind := range spec.Match.Kinds {
		one.Kinds = append(one.Kinds, admission.GroupVersionKind{Group: kind.Group, Kind: kind.Kind})
	}
	if len(one.Namespaces) == 0 && len(one.Names) == 0 && len(one.Kinds) == 0 {
		return nil, fmt.Errorf("spec.match: Required value: at least one of namespaces, kinds and names must be set")
	}
	return one.Compiled()
}
