package serving

import (
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/lintel-policy/lintel/controllers/openvox/openvoxtest"
)

// site has the controllers of this package look at what it holds.
type site struct{ *openvoxtest.Site }

func newSite(t *testing.T, objects ...client.Object) *site {
	t.Helper()
	return &site{openvoxtest.NewSite(t, objects...)}
}

func newSiteOn(t *testing.T, c client.WithWatch) *site {
	t.Helper()
	return &site{openvoxtest.NewSiteOn(t, c)}
}
