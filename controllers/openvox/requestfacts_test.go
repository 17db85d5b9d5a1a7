package openvox

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/lintel-policy/lintel/controllers/openvox/openvoxtest"
	builtin "github.com/lintel-policy/lintel/policies/rules"
	rules "github.com/lintel-policy/lintel/policies/rules/openvox"
)

// TestThePermissionOnASigner: it is assumed, and the API server's answer decides.
func TestThePermissionOnASigner(t *testing.T) {
	t.Parallel()
	unreachable := errors.New("unreachable")
	const signer = "certificateauthorities.openvox.voxpupuli.org/ns.main"
	for name, c := range map[string]struct {
		allowed bool
		err     error
	}{"allowed": {allowed: true}, "refused": {}, "no answer": {err: unreachable}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			scheme := runtime.NewScheme()
			require.NoError(t, authorizationv1.AddToScheme(scheme))
			direct := fake.NewClientBuilder().WithScheme(scheme).WithInterceptorFuncs(interceptor.Funcs{
				Create: func(_ context.Context, _ client.WithWatch, object client.Object, _ ...client.CreateOption) error {
					access := object.(*authorizationv1.SubjectAccessReview)
					require.Equal(t, "ann", access.Spec.User)
					require.Equal(t, &authorizationv1.ResourceAttributes{Group: "certificates.k8s.io", Resource: "signers", Verb: "reference", Name: signer}, access.Spec.ResourceAttributes)
					access.Status.Allowed = c.allowed
					return c.err
				},
			}).Build()
			a := &admitter{cached: openvoxtest.NewClient(t, openvoxtest.MakeCA("main")), direct: direct}
			review := reviewOf(t, "CertificateSigningRequest", "certificatesigningrequests", "c", false, nil, map[string]any{"spec": map[string]any{"signerName": signer}})
			found, err := a.signingRequestFacts(t.Context(), review)
			require.NoError(t, err)
			assumed := found.(*builtin.Assumption)
			require.True(t, assumed.Facts.(rules.RequestFacts).MayReference)
			require.True(t, assumed.Facts.(rules.RequestFacts).Authority)
			actual, err := assumed.Confirm()
			require.ErrorIs(t, err, c.err)
			if c.allowed || c.err != nil {
				require.Nil(t, actual)
				return
			}
			want := assumed.Facts.(rules.RequestFacts)
			want.MayReference = false
			require.Equal(t, want, actual)
		})
	}
}
