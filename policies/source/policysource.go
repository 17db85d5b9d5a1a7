package source

import (
	"github.com/lintel-policy/lintel/api/policy/v1alpha1"
	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/hierarchy"
)

// FromPolicySource is the engine's view of a PolicySource whose files were fetched
// at a revision; an empty revision stands for the digest of the files. Fields that
// the API server would default may be empty.
func FromPolicySource(object *v1alpha1.PolicySource, files map[string]string, revision string) definition.Source {
	spec := object.Spec
	source := definition.Source{
		Name:          object.Name,
		Revision:      revision,
		Files:         files,
		Partial:       spec.Partial,
		Created:       object.CreationTimestamp.Time,
		FailurePolicy: definition.FailurePolicy(spec.FailurePolicy),
		Scope: hierarchy.Scope{
			Level:      hierarchy.Level(spec.Scope.Level),
			Name:       spec.Scope.Name,
			Parent:     spec.Scope.Parent,
			Namespaces: spec.Scope.Namespaces,
			Grants: hierarchy.Grants{
				Requires:  grantedKinds(spec.Scope.Grants.Requires),
				Mutates:   grantedKinds(spec.Scope.Grants.Mutates),
				External:  spec.Scope.Grants.External,
				Clock:     spec.Scope.Grants.Clock,
				Wildcards: spec.Scope.Grants.Wildcards,
			},
		},
	}
	if spec.Parameters != nil {
		source.Parameters = spec.Parameters.Raw
	}
	return source
}

func grantedKinds(granted []v1alpha1.GrantedKind) (kinds []admission.GroupVersionKind) {
	for _, kind := range granted {
		kinds = append(kinds, admission.GroupVersionKind{Group: kind.Group, Kind: kind.Kind})
	}
	return kinds
}
