package apiserver

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	k8sadmission "k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/user"

	"github.com/lintel-policy/lintel/controllers/guard"
	"github.com/lintel-policy/lintel/controllers/openclaw"
	"github.com/lintel-policy/lintel/controllers/system"
)

// TestControllersNeverCallOut: the entries for controlled objects are not called for what the
// manager and Kubernetes' controllers write, nor the one for names for other names.
func TestControllersNeverCallOut(t *testing.T) {
	const manager = "system:serviceaccount:lintel-system:lintel-manager"
	products, err := guard.Entries(manager, nil, []system.Controls{*openclaw.Part().Controls()})
	require.NoError(t, err)
	object := &corev1.ConfigMap{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"}}
	for _, c := range []struct {
		entry, user, group, resource, name string
		operation                          k8sadmission.Operation
		called                             bool
	}{
		{"controlled.lintel.dev", "jane", "", "configmaps", "a", k8sadmission.Update, true},
		{"controlled.lintel.dev", "jane", "", "configmaps", "a", k8sadmission.Delete, true},
		{"controlled.lintel.dev", manager, "", "configmaps", "a", k8sadmission.Update, false},
		{"controlled.lintel.dev", "system:serviceaccount:kube-system:generic-garbage-collector", "", "configmaps", "a", k8sadmission.Delete, false},
		{"controlled.lintel.dev", "system:serviceaccount:kube-system:namespace-controller", "", "configmaps", "a", k8sadmission.Delete, false},
		{"reserved-names.lintel.dev", "jane", "", "configmaps", "a-gateway-policies", k8sadmission.Create, true},
		{"reserved-names.lintel.dev", "jane", "", "configmaps", "a-gateway-policies-1", k8sadmission.Create, true},
		{"reserved-names.lintel.dev", "jane", "", "configmaps", "a-opa-policies", k8sadmission.Create, true},
		{"reserved-names.lintel.dev", "jane", "apps", "deployments", "a-gateway", k8sadmission.Create, true},
		{"reserved-names.lintel.dev", "jane", "", "configmaps", "a-gateway", k8sadmission.Create, false},
		{"reserved-names.lintel.dev", "jane", "", "configmaps", "settings", k8sadmission.Create, false},
		{"reserved-names.lintel.dev", "jane", "", "configmaps", "", k8sadmission.Create, false}, // its name is generated
		{"reserved-names.lintel.dev", manager, "", "configmaps", "a-gateway-policies", k8sadmission.Create, false},
	} {
		t.Run(c.entry+"/"+string(c.operation)+" "+c.resource+" "+c.name+" by "+c.user, func(t *testing.T) {
			var now, old runtime.Object = object, object
			if c.operation == k8sadmission.Create {
				old = nil
			} else if c.operation == k8sadmission.Delete {
				now = nil
			}
			for _, product := range products {
				if product.Entry != c.entry {
					continue
				}
				kind := schema.GroupVersionKind{Group: c.group, Version: "v1", Kind: "Any"}
				attributes := k8sadmission.NewAttributesRecord(now, old, kind, "shop", c.name, kind.GroupVersion().WithResource(c.resource), "",
					c.operation, nil, false, &user.DefaultInfo{Name: c.user})
				result := matcherOf(t, product.MatchConditions).Match(t.Context(), &k8sadmission.VersionedAttributes{
					Attributes: attributes, VersionedKind: kind, VersionedObject: now, VersionedOldObject: old,
				}, nil, nil)
				require.NoError(t, result.Error)
				assert.Equal(t, c.called, result.Matches)
				return
			}
			require.Fail(t, "no entry")
		})
	}
}
