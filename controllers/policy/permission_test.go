package policy

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	authorizationv1 "k8s.io/api/authorization/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/lintel-policy/lintel/policies/admission"
)

// permitting is a client whose user may do what allowed says of verb and resource.
func permitting(allowed func(verb, resource string) (bool, error)) client.Client {
	return fake.NewClientBuilder().WithInterceptorFuncs(interceptor.Funcs{
		Create: func(_ context.Context, _ client.WithWatch, object client.Object, _ ...client.CreateOption) error {
			review := object.(*authorizationv1.SelfSubjectAccessReview)
			var err error
			review.Status.Allowed, err = allowed(review.Spec.ResourceAttributes.Verb, review.Spec.ResourceAttributes.Resource)
			return err
		},
	}).Build()
}

// bindings are kinds of the longest name that Kubernetes has.
func bindings(n int) []admission.GroupVersionKind {
	return slices.Repeat([]admission.GroupVersionKind{{Group: "admissionregistration.k8s.io", Kind: "ValidatingAdmissionPolicyBinding"}}, n)
}

func TestUnmetRequires(t *testing.T) {
	const grantIngresses = "kubectl create clusterrole lintel-policy-data-ingresses.networking.k8s.io --verb=list,watch --resource=ingresses.networking.k8s.io && " +
		"kubectl label clusterrole lintel-policy-data-ingresses.networking.k8s.io lintel.dev/aggregate-to-policy-data=true"
	may := func(texts ...string) func(verb, resource string) (bool, error) {
		return func(verb, resource string) (bool, error) {
			return strings.Contains(strings.Join(texts, ","), verb+" "+resource), nil
		}
	}
	for name, c := range map[string]struct {
		allowed func(verb, resource string) (bool, error)
		kinds   []admission.GroupVersionKind
		reason  string // empty: met
		message string
	}{
		"nothing required": {may(), nil, "", ""},
		"permitted":        {may("list ingresses", "watch ingresses"), []admission.GroupVersionKind{ingressKind}, "", ""},
		"forbidden":        {may(), []admission.GroupVersionKind{ingressKind}, ReasonRequiresForbidden, "the policies require Ingress.networking.k8s.io, which Lintel may not list and watch; permit it with: " + grantIngresses},
		"only list":        {may("list ingresses"), []admission.GroupVersionKind{ingressKind}, ReasonRequiresForbidden, grantIngresses},
		"one of two":       {may("list services", "watch services"), []admission.GroupVersionKind{serviceKind, ingressKind}, ReasonRequiresForbidden, "require Ingress.networking.k8s.io, which"},
		"unknown kind":     {may(), []admission.GroupVersionKind{{Group: "example.com", Kind: "Widget"}}, ReasonRequiresUnknownKind, "require Widget.example.com, a kind that the cluster does not serve; install"},
		"three": {may(), []admission.GroupVersionKind{ingressKind, serviceKind, {Kind: "Pod"}}, ReasonRequiresForbidden, "require Ingress.networking.k8s.io, Service, Pod, which Lintel may not list and watch; permit it with: " +
			"for kind in ingresses.networking.k8s.io services pods; do kubectl create clusterrole lintel-policy-data-$kind --verb=list,watch --resource=$kind && " +
			"kubectl label clusterrole lintel-policy-data-$kind lintel.dev/aggregate-to-policy-data=true; done"},
		"too many":         {may(), bindings(12), ReasonRequiresForbidden, "more kinds, named then)"},
		"unknown and more": {may(), append([]admission.GroupVersionKind{{Group: "example.com", Kind: "Widget"}, {Group: "example.com", Kind: "Gadget"}}, bindings(12)...), ReasonRequiresUnknownKind, "require Widget.example.com, Gadget.example.com, kinds that the cluster does not serve; install the CustomResourceDefinition, or correct requires; and the policies require "},
	} {
		t.Run(name, func(t *testing.T) {
			found, err := unmetRequires(t.Context(), permitting(c.allowed), admission.BuiltinResources(), c.kinds)
			require.NoError(t, err)
			if c.reason == "" {
				require.Nil(t, found)
				return
			}
			require.Equal(t, c.reason, found.reason)
			require.Contains(t, found.message, c.message)
			require.Less(t, len(found.message), 900, "the commands must not be cut off")
		})
	}
	_, err := unmetRequires(t.Context(), permitting(func(string, string) (bool, error) { return false, errors.New("down") }), admission.BuiltinResources(), []admission.GroupVersionKind{serviceKind})
	require.ErrorContains(t, err, "asking whether list of services is permitted: down", "no answer is no refusal")
}
