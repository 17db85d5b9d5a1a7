package roots

import (
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestSystem asks in a process of its own: the system's authorities are read once.
func TestSystem(t *testing.T) {
	if os.Getenv("LINTEL_TEST_ROOTS") != "" {
		system, err := System()
		require.NoError(t, err)
		mozilla, err := Mozilla()
		require.NoError(t, err)
		fmt.Println("none:", system.Equal(x509.NewCertPool()), "of Mozilla:", system.Equal(mozilla))
		return
	}
	server := httptest.NewTLSServer(http.NotFoundHandler())
	server.Close()
	one := filepath.Join(t.TempDir(), "one.pem")
	require.NoError(t, os.WriteFile(one, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}), 0o600))
	for name, c := range map[string]struct{ file, says string }{
		"without any": {os.DevNull, "none: false of Mozilla: true"},
		"with one":    {one, "none: false of Mozilla: false"},
	} {
		t.Run(name, func(t *testing.T) {
			child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestSystem$")
			child.Env = append(os.Environ(), "LINTEL_TEST_ROOTS=1", "SSL_CERT_FILE="+c.file, "SSL_CERT_DIR="+t.TempDir())
			output, err := child.CombinedOutput()
			require.NoError(t, err, "%s", output)
			require.Contains(t, string(output), c.says)
		})
	}
}
