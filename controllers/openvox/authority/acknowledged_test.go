package authority

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	v1alpha1 "github.com/lintel-policy/lintel/api/openvox/v1alpha1"
	"github.com/lintel-policy/lintel/controllers/openvox/layout"
	"github.com/lintel-policy/lintel/controllers/openvox/openvoxtest"
	"github.com/lintel-policy/lintel/controllers/openvox/puppet"
)

// annotate sets the annotation that a message requests.
func (f *refreshing) annotate(key, message string) {
	f.t.Helper()
	found := regexp.MustCompile(regexp.QuoteMeta(key) + `=([0-9a-f]+)`).FindStringSubmatch(message)
	require.NotNil(f.t, found, message)
	ca := &v1alpha1.CertificateAuthority{}
	require.NoError(f.t, f.client.Get(f.t.Context(), openvoxtest.Main.NamespacedName, ca))
	ca.Annotations = map[string]string{key: found[1]}
	require.NoError(f.t, f.client.Update(f.t.Context(), ca))
}

// TestAcceptedCRL: users cannot edit the Secret with the CRL. An annotation accepts an older CRL, once.
func TestAcceptedCRL(t *testing.T) {
	ca := openvoxtest.NewCA(t)
	f := newRefreshing(t, ca.URL, ca)
	number := func() string {
		lists, err := puppet.ParseCRLs(f.stored().Data[layout.CRLFile])
		require.NoError(t, err)
		return lists[0].Number.String()
	}
	ca.CRL = 5
	f.reconcile()
	f.told()
	ca.CRL = 4
	object, _ := f.later()
	refused := state(object, ConditionCRLCurrent)
	require.Contains(t, refused, "False CRLRefused")
	require.Equal(t, "5", number())
	f.annotate(v1alpha1.AcceptCRLAnnotation, refused)
	object, _ = f.later()
	require.Contains(t, state(object, ConditionCRLCurrent), "True Refreshed")
	require.Equal(t, "4", number())
	require.Contains(t, strings.Join(f.told(), "\n"), "Warning CRLAccepted")

	ca.CRL = 6
	f.later()
	require.Equal(t, "6", number())
	ca.CRL = 4
	object, _ = f.later()
	require.Contains(t, state(object, ConditionCRLCurrent), "False CRLRefused", "the annotation stays, and was for one replacement")
	require.Equal(t, "6", number())
	require.NotContains(t, strings.Join(f.told(), "\n"), "CRLAccepted")
}

// TestDiscardedRecord: users cannot edit the Secret with the record of revocations, either.
func TestDiscardedRecord(t *testing.T) {
	f := newRevoking(t)
	_, err := f.r.revoker.Revoke(t.Context(), f.authority, "web", f.issued("web"), true)
	require.NoError(t, err)
	require.Contains(t, f.condition(), "True Refreshed")
	damage := func(content string) string {
		require.NoError(t, f.r.secrets.edit(t.Context(), openvoxtest.MakeCA("main"), layout.RevocationsSecret("main"), nil, func(data map[string][]byte) error {
			data[layout.RevocationsFile] = []byte(content)
			return nil
		}))
		f.now = f.now.Add(time.Minute)
		return f.condition()
	}
	message := damage("first")
	require.Contains(t, message, "False RecordUnreadable reading the record of revocations in Secret main-ca-revocations")
	f.annotate(v1alpha1.DiscardRevocationsAnnotation, message)
	f.told()
	require.Contains(t, f.condition(), "True Refreshed")
	require.Contains(t, strings.Join(f.told(), "\n"), "Warning RevocationsDiscarded")
	require.Contains(t, damage("second"), "False RecordUnreadable", "the annotation names the content that is discarded")
}
