package puppetca

import (
	"testing"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"github.com/stretchr/testify/require"
	"github.com/lintel-policy/lintel/controllers/openvox/configfiles"
	"github.com/lintel-policy/lintel/api/openvox/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestRenderedTry(t *testing.T) {
	dir := t.TempDir()
	if d := os.Getenv("KEEP"); d != "" { dir = d; os.MkdirAll(d, 0o755) }
	in := configfiles.Input{Config: &v1alpha1.Config{ObjectMeta: metav1.ObjectMeta{Name:"c"}}, Authority: &v1alpha1.CertificateAuthority{ObjectMeta: metav1.ObjectMeta{Name:"main"}}, CATTL: 86400*365, RenewalTTL: 86400}
	in.Config.Spec.PuppetServer.BorrowTimeout = 1200000
	files, err := configfiles.Render(in)
	require.NoError(t, err)
	o := Options{Dir: dir, Name: "ca.example.com", Operator: "main-operator", Autosign: "/bin/false", Rendered: files}
	_, err = prepare(o)
	require.NoError(t, err)
	output, err := exec.Command("puppetserver", "ca", "setup", "--config", filepath.Join(dir, "puppet.conf"),
		"--certname", o.Name, "--subject-alt-names", "DNS:localhost,IP:127.0.0.1").CombinedOutput()
	require.NoError(t, err, string(output))
	require.NoError(t, os.Rename(filepath.Join(dir, "ssl"), filepath.Join(dir, "ca/setup-ssl")))
	ca, err := Serve(t.Context(), o)
	require.NoError(t, err)
	t.Cleanup(ca.Stop)
	status, text, err := ca.Do(t.Context(), http.MethodGet, "certificate_revocation_list/ca", nil)
	require.NoError(t, err)
	require.Equal(t, 200, status)
	t.Log(string(text)[:100], ca.Log())
}
