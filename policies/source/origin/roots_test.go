package origin

import (
	"crypto/x509"
	"fmt"
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestASystemWithoutAuthorities, asked in a process of its own: they are read once.
func TestASystemWithoutAuthorities(t *testing.T) {
	if os.Getenv("LINTEL_TEST_ROOTS") != "" {
		require.NoError(t, trustMozillasRoots())
		roots, err := x509.SystemCertPool()
		require.NoError(t, err)
		fmt.Println("authorities:", !roots.Equal(x509.NewCertPool()))
		return
	}
	child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestASystemWithoutAuthorities$")
	child.Env = append(os.Environ(), "LINTEL_TEST_ROOTS=1", "SSL_CERT_FILE="+os.DevNull, "SSL_CERT_DIR="+t.TempDir())
	output, err := child.CombinedOutput()
	require.NoError(t, err, "%s", output)
	require.Contains(t, string(output), "authorities: true")
}
