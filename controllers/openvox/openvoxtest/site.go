package openvoxtest

import (
	"context"
	"crypto/x509"
	"crypto/x509/pkix"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/lintel-policy/lintel/controllers/object"
	"github.com/lintel-policy/lintel/controllers/openvox/layout"
)

// Site is an API server that counts writes, together with the verdicts of the rules.
type Site struct {
	// T is the test whose site it is.
	T *testing.T
	// Client reads the objects, and Applier writes them as field manager "test".
	Client  client.Client
	Applier *object.Applier
	// Now is its time.
	Now time.Time
	// Events buffers up to 100 unread Events.
	Events *events.FakeRecorder
	// Writes is how often an object was applied, or a status patched.
	Writes int
	// Refuse is the error for objects that are created or applied: nil allows them.
	Refuse error
	// Denied is what the rules say: "" permits. Broken is why they say nothing: nil where they
	// do.
	Denied string
	Broken error
}

// NewSite is one that holds objects.
func NewSite(t *testing.T, objects ...client.Object) *Site {
	t.Helper()
	return NewSiteOn(t, NewClient(t, objects...))
}

// NewSiteOn is one on an API server that is there.
func NewSiteOn(t *testing.T, c client.WithWatch) *Site {
	t.Helper()
	s := &Site{T: t, Now: time.Now(), Events: events.NewFakeRecorder(100)}
	s.Client = interceptor.NewClient(c, interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, options ...client.CreateOption) error {
			if s.Refuse != nil {
				return s.Refuse
			}
			return c.Create(ctx, o, options...)
		},
		Apply: func(ctx context.Context, c client.WithWatch, o runtime.ApplyConfiguration, options ...client.ApplyOption) error {
			s.Writes++
			if s.Refuse != nil {
				return s.Refuse
			}
			return c.Apply(ctx, o, options...)
		},
		SubResourcePatch: func(ctx context.Context, c client.Client, sub string, o client.Object, p client.Patch, options ...client.SubResourcePatchOption) error {
			s.Writes++
			return c.SubResource(sub).Patch(ctx, o, p, options...)
		},
	})
	s.Applier = &object.Applier{Client: s.Client, Live: s.Client, Manager: "test"}
	return s
}

// Get reads an object of namespace ns, and says whether it is there.
func (s *Site) Get(name string, into client.Object) bool {
	s.T.Helper()
	err := s.Client.Get(s.T.Context(), client.ObjectKey{Namespace: "ns", Name: name}, into)
	if apierrors.IsNotFound(err) {
		return false
	}
	require.NoError(s.T, err)
	return true
}

// FillCA fills the Secrets of CertificateAuthority main as the setup Job does, and returns the
// Secret of its server.
func (s *Site) FillCA(ca *CA, certname string, names ...string) (pair map[string][]byte) {
	s.T.Helper()
	pair = NewPair(s.T, ca, &x509.Certificate{Subject: pkix.Name{CommonName: certname}, DNSNames: names})
	for name, data := range map[string]map[string][]byte{
		"main-ca": {layout.CAFile: ca.Bundle()}, "main-ca-key": {"ca_key.pem": []byte("key")}, "main-ca-crl": {layout.CRLFile: ca.List(1)}, "main-ca-setup": pair,
	} {
		secret := &corev1.Secret{}
		require.True(s.T, s.Get(name, secret), name)
		secret.Data = data
		require.NoError(s.T, s.Client.Update(s.T.Context(), secret))
	}
	return pair
}
