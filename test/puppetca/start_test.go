package puppetca

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestStart: what the other tests stand on answers as a Puppet server does.
func TestStart(t *testing.T) {
	ca, err := Start(t.Context(), Options{Dir: t.TempDir(), Name: "ca.example.com", Operator: "main-operator"})
	require.NoError(t, err)
	t.Cleanup(ca.Stop)
	status, text, err := ca.Do(t.Context(), http.MethodGet, "certificate_revocation_list/ca", nil)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, status)
	require.Contains(t, string(text), "BEGIN X509 CRL")
	status, _, err = ca.Do(t.Context(), http.MethodGet, "certificate/nobody", nil)
	require.NoError(t, err)
	require.Equal(t, http.StatusNotFound, status)
}
