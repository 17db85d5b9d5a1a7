package authority

import (
	"testing"

	"github.com/stretchr/testify/require"

	v1alpha1 "github.com/lintel-policy/lintel/api/openvox/v1alpha1"
	"github.com/lintel-policy/lintel/controllers/openvox/openvoxtest"
)

// TestAuthorityThatIsCreatedAgain: the deletion and the creation of a CertificateAuthority may be one
// event. What is known about the first one is not about the second one.
func TestAuthorityThatIsCreatedAgain(t *testing.T) {
	ca := openvoxtest.NewCA(t)
	f := newRefreshing(t, ca.URL, ca)
	first, _ := f.reconcile()
	require.Equal(t, 1, f.calls())
	f.reconcile()
	require.Equal(t, 1, f.calls(), "not before its time")

	require.NoError(t, f.client.Delete(t.Context(), &v1alpha1.CertificateAuthority{ObjectMeta: first.ObjectMeta}))
	second := openvoxtest.MakeExternalCA(ca.URL)
	second.UID = "second"
	require.Equal(t, first.Generation, second.Generation)
	require.NoError(t, f.client.Create(t.Context(), second))
	secret := f.stored()
	secret.OwnerReferences[0].UID = second.UID // as if it was adopted
	require.NoError(t, f.client.Update(t.Context(), secret))
	f.reconcile()
	require.Equal(t, 2, f.calls())
}
