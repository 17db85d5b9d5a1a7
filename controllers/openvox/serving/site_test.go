package serving

import (
	"context"
	"crypto/x509"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/lintel-policy/lintel/api/openvox/v1alpha1"
	"github.com/lintel-policy/lintel/controllers/openvox/layout"
	"github.com/lintel-policy/lintel/controllers/openvox/openvoxtest"
)

// site runs the controllers of this package on its objects.
type site struct{ *openvoxtest.Site }

func newSite(t *testing.T, objects ...client.Object) *site {
	t.Helper()
	return &site{openvoxtest.NewSite(t, objects...)}
}

func (s *site) outdated(ctx context.Context, ca *v1alpha1.CertificateAuthority, certificate *v1alpha1.Certificate, stored *x509.Certificate) (string, error) {
	return layout.Outdated(ctx, s.Client, ca, certificate, stored)
}

func newSiteOn(t *testing.T, c client.WithWatch) *site {
	t.Helper()
	return &site{openvoxtest.NewSiteOn(t, c)}
}

// codeOf are sources of Puppet code.
func codeOf(sources ...v1alpha1.CodeSource) v1alpha1.PuppetCode {
	return v1alpha1.PuppetCode{List: sources}
}
