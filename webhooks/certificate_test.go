package webhooks

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"log/slog"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/lintel-policy/lintel/webhooks/registration"
)

// authority issues certificates.
type authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
	pem         []byte
}

func newAuthority(t testing.TB, name string) *authority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(90 * 24 * time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	require.NoError(t, err)
	certificate, err := x509.ParseCertificate(der)
	require.NoError(t, err)
	return &authority{certificate, key, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})}
}

// issue writes a leaf with a serial number into a directory, as cert-manager does.
func (a *authority) issue(t testing.TB, directory string, serial int64, notAfter time.Time, usage x509.ExtKeyUsage) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(serial), NotBefore: time.Now().Add(-time.Hour), NotAfter: notAfter,
		ExtKeyUsage: []x509.ExtKeyUsage{usage}, DNSNames: []string{"localhost"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.certificate, key.Public(), a.key)
	require.NoError(t, err)
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	require.NoError(t, err)
	write := func(name string, text []byte) {
		require.NoError(t, os.WriteFile(filepath.Join(directory, name), text, 0o600))
	}
	write("tls.crt", pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
	write("tls.key", pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER}))
	write("ca.crt", a.pem)
}

func newTestMetrics(t testing.TB) *Metrics {
	t.Helper()
	metrics := NewMetrics(prometheus.NewRegistry())
	return metrics
}

// served is the serial number of the certificate that is served: 0 for none.
func served(c *Certificate) int64 {
	if pair := c.serving.Load(); pair != nil {
		return pair.chain[0].SerialNumber.Int64()
	}
	return 0
}

func TestCertificate(t *testing.T) {
	directory, ca := t.TempDir(), newAuthority(t, "one")
	now, trusted := time.Now(), false
	var trustErr error
	c := NewCertificate(Directory(directory), func(context.Context, []*x509.Certificate) (bool, error) { return trusted, trustErr },
		newTestMetrics(t), slog.New(slog.DiscardHandler))
	c.now = func() time.Time { return now }
	reload := func() { _ = c.Reload(t.Context()) }

	reload()
	require.Error(t, c.Ready(nil), "no file yet")
	_, err := c.GetCertificate(nil)
	require.ErrorIs(t, err, errNoCertificate)

	expiry := now.Add(24 * time.Hour).Truncate(time.Second)
	ca.issue(t, directory, 1, expiry, x509.ExtKeyUsageServerAuth)
	reload()
	assert.EqualValues(t, 1, served(c), "the first is served at once")
	require.ErrorIs(t, c.Ready(nil), errNotTrusted, "whoever calls would refuse it")
	trustErr = errors.New("no answer")
	require.ErrorIs(t, c.Reload(t.Context()), trustErr)
	require.ErrorIs(t, c.Ready(nil), errNotTrusted)
	trusted, trustErr = true, nil
	reload()
	require.NoError(t, c.Ready(nil), "no delay: whoever was ready earlier would have been called, too")
	trusted = false
	reload()
	require.NoError(t, c.Ready(nil), "once ready, always ready")
	assert.InDelta(t, float64(expiry.Unix()), testutil.ToFloat64(c.metrics.certificateExpiry.WithLabelValues("leaf")), 1)
	assert.InDelta(t, float64(ca.certificate.NotAfter.Unix()), testutil.ToFloat64(c.metrics.certificateExpiry.WithLabelValues("ca")), 1)

	ca.issue(t, directory, 2, expiry, x509.ExtKeyUsageServerAuth)
	reload()
	assert.EqualValues(t, 1, served(c), "not trusted yet")
	trusted = true
	reload()
	now = now.Add(trustDelay - time.Second)
	reload()
	assert.EqualValues(t, 1, served(c), "the API server may not have seen it yet")
	trusted = false
	reload()
	trusted = true
	now = now.Add(time.Second)
	reload()
	assert.EqualValues(t, 1, served(c), "trust was lost, and counts anew")
	trustErr = errors.New("no answer")
	require.Error(t, c.Reload(t.Context()))
	trustErr = nil
	now = now.Add(trustDelay)
	reload()
	assert.EqualValues(t, 2, served(c))

	require.NoError(t, os.Remove(filepath.Join(directory, "tls.crt")))
	require.Error(t, c.Reload(t.Context()))
	assert.EqualValues(t, 2, served(c), "a missing file keeps the old one")
	require.NoError(t, os.WriteFile(filepath.Join(directory, "tls.crt"), ca.pem, 0o600))
	require.Error(t, c.Reload(t.Context()), "the key is another's")
	assert.EqualValues(t, 2, served(c))

	trusted = false
	ca.issue(t, directory, 3, now.Add(48*time.Hour), x509.ExtKeyUsageServerAuth)
	reload()
	assert.EqualValues(t, 2, served(c))
	now = expiry.Add(time.Second)
	reload()
	assert.EqualValues(t, 3, served(c), "an expired one is no better")
}

// TestAReplicaThatStartsBetweenTwoRenewals serves its first certificate, and is ready with the
// first trusted one.
func TestAReplicaThatStartsBetweenTwoRenewals(t *testing.T) {
	directory, ca := t.TempDir(), newAuthority(t, "one")
	now, trusted := time.Now(), int64(0)
	c := NewCertificate(Directory(directory), func(_ context.Context, chain []*x509.Certificate) (bool, error) {
		return chain[0].SerialNumber.Int64() == trusted, nil
	}, newTestMetrics(t), slog.New(slog.DiscardHandler))
	reload := func() { _ = c.Reload(t.Context()) }

	ca.issue(t, directory, 1, now.Add(time.Hour), x509.ExtKeyUsageServerAuth)
	reload()
	ca.issue(t, directory, 2, now.Add(time.Hour), x509.ExtKeyUsageServerAuth)
	reload()
	require.EqualValues(t, 2, served(c), "the first was of no use to anybody")
	require.Error(t, c.Ready(nil))
	trusted = 2
	reload()
	require.NoError(t, c.Ready(nil))
}

func TestTrustedByConfigurations(t *testing.T) {
	old, renewed := newAuthority(t, "old"), newAuthority(t, "new")
	directory := t.TempDir()
	renewed.issue(t, directory, 1, time.Now().Add(time.Hour), x509.ExtKeyUsageServerAuth)
	files, err := Directory(directory)(t.Context())
	require.NoError(t, err)
	pair, err := parseKeyPair(files)
	require.NoError(t, err)
	both := append(append([]byte{}, old.pem...), renewed.pem...)
	meta := metav1.ObjectMeta{Name: registration.ConfigurationName}
	tests := []struct {
		name                        string
		validating, other, mutating []byte
		want                        bool
	}{
		{"all", both, both, renewed.pem, true},
		{"one entry of the validating does not", both, old.pem, both, false},
		{"the mutating does not", both, both, old.pem, false},
		{"not injected yet", both, both, nil, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			entry := func(bundle []byte) admissionregistrationv1.WebhookClientConfig {
				return admissionregistrationv1.WebhookClientConfig{CABundle: bundle}
			}
			reader := fake.NewClientBuilder().WithObjects(
				&admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: meta, Webhooks: []admissionregistrationv1.ValidatingWebhook{
					{Name: "a", ClientConfig: entry(test.validating)}, {Name: "b", ClientConfig: entry(test.other)},
				}},
				&admissionregistrationv1.MutatingWebhookConfiguration{ObjectMeta: meta, Webhooks: []admissionregistrationv1.MutatingWebhook{
					{Name: "a", ClientConfig: entry(test.mutating)},
				}},
			).Build()
			trusted, err := TrustedByConfigurations(reader)(t.Context(), pair.chain)
			require.NoError(t, err)
			assert.Equal(t, test.want, trusted)
		})
	}
	trusted, err := TrustedByConfigurations(fake.NewClientBuilder().Build())(t.Context(), pair.chain)
	require.NoError(t, err)
	assert.True(t, trusted, "nobody calls")
}

// TestTrustThroughAnIntermediate: the bundle has the root, and the chain the rest.
func TestTrustThroughAnIntermediate(t *testing.T) {
	root, between := newAuthority(t, "root"), newAuthority(t, "between")
	der, err := x509.CreateCertificate(rand.Reader, between.certificate, root.certificate, between.key.Public(), root.key)
	require.NoError(t, err)
	between.certificate, err = x509.ParseCertificate(der)
	require.NoError(t, err)
	directory := t.TempDir()
	between.issue(t, directory, 1, time.Now().Add(time.Hour), x509.ExtKeyUsageServerAuth)
	files, err := Directory(directory)(t.Context())
	require.NoError(t, err)
	pair, err := parseKeyPair(files)
	require.NoError(t, err)
	require.False(t, vouches(root.pem, pair.chain))
	require.True(t, vouches(root.pem, append(pair.chain, between.certificate)))
}
