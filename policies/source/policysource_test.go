package source

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lintel-policy/lintel/api/policy/v1alpha1"
	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/hierarchy"
)

func TestGrantsOfAPolicySource(t *testing.T) {
	object := &v1alpha1.PolicySource{Spec: v1alpha1.PolicySourceSpec{Scope: v1alpha1.Scope{Grants: v1alpha1.ScopeGrants{
		Requires: []v1alpha1.GrantedKind{{Kind: "Node"}},
		Mutates:  []v1alpha1.GrantedKind{{Group: "rbac.authorization.k8s.io", Kind: "RoleBinding"}, {Kind: "Secret"}},
		Clock:    true,
	}}}}
	require.Equal(t, hierarchy.Grants{
		Requires: []admission.GroupVersionKind{{Kind: "Node"}},
		Mutates:  []admission.GroupVersionKind{{Group: "rbac.authorization.k8s.io", Kind: "RoleBinding"}, {Kind: "Secret"}},
		Clock:    true,
	}, FromPolicySource(object, nil, "").Scope.Grants)
}
