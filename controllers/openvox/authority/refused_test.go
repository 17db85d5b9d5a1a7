package authority

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	v1alpha1 "github.com/lintel-policy/lintel/api/openvox/v1alpha1"
	"github.com/lintel-policy/lintel/controllers/openvox/layout"
	"github.com/lintel-policy/lintel/controllers/openvox/openvoxtest"
	"github.com/lintel-policy/lintel/controllers/openvox/puppet"
	"github.com/lintel-policy/lintel/policies/csr/csrtest"
	hook "github.com/lintel-policy/lintel/policies/rules/openvox/signing"
)

// TestReportRefused: one Event about the requests that the policies refuse, and no more of them
// however many are sent.
func TestReportRefused(t *testing.T) {
	ca := openvoxtest.NewCA(t)
	f := newRefreshing(t, ca.URL, ca)
	object := &v1alpha1.CertificateAuthority{}
	require.NoError(t, f.client.Get(t.Context(), openvoxtest.Main.NamespacedName, object))
	admin, err := puppet.NewClient(puppet.Server{URL: ca.URL, CA: ca.Bundle()})
	require.NoError(t, err)
	t.Cleanup(admin.Close)
	a := &Connection{CA: object, Bundle: ca.Bundle(), Admin: admin, Anyone: admin}
	text, err := hook.Rendered{Policies: []hook.Policy{{Name: "nodes", Pattern: &hook.Allow{Allow: []string{"*.example.com"}}}}}.Write()
	require.NoError(t, err)
	require.NoError(t, f.r.secrets.Keep(t.Context(), object, layout.AutosignSecret("main"), nil, map[string][]byte{layout.PolicyFile: text}))
	require.NoError(t, f.client.Create(t.Context(), &v1alpha1.Certificate{
		ObjectMeta: openvoxtest.MakeSecret("own", nil).ObjectMeta, Spec: v1alpha1.CertificateSpec{AuthorityRef: "main", Certname: "own.example.org"},
	}))
	report := func() (messages []string) {
		var out refreshResult
		f.r.refused.report(t.Context(), object, a, &out)
		for _, event := range out.events {
			require.Equal(t, reasonRequestsRefused, event.Reason)
			require.LessOrEqual(t, len(event.Message), 1024)
			messages = append(messages, event.Message)
		}
		return messages
	}
	submit := func(name string) {
		ca.Requests[name] = csrtest.Template{CommonName: name}.Make(t)
	}
	submit("web.example.com") // the policies permit it by now
	submit("own.example.org") // of a Certificate, whose status reports it
	require.Empty(t, report())
	submit("a.example.org")
	require.Empty(t, report(), "the CA was just looked at")
	f.now = f.now.Add(lookAfter)
	require.Equal(t, []string{"the SigningPolicies refuse requests that wait at the CA: \"a.example.org\" (signing policy \"nodes\": certname \"a.example.org\" matches none of its patterns (*.example.com)); " +
		"`lintel openvox ca list --state pending` shows all"}, report())
	f.now = f.now.Add(reportAfter)
	require.Empty(t, report(), "nothing has changed")

	for i := range 60 {
		submit(fmt.Sprintf("%s%d.example.org", strings.Repeat("x", 200), i))
	}
	f.now = f.now.Add(lookAfter)
	messages := report()
	require.Len(t, messages, 1)
	require.Contains(t, messages[0], "and 46 more; only 50 of 62 requests were evaluated")
	for range 9 {
		submit("b" + f.now.Format("150405") + ".example.org")
		f.now = f.now.Add(lookAfter)
		require.Empty(t, report(), "one in ten minutes")
	}
	f.now = f.now.Add(lookAfter)
	require.Len(t, report(), 1)
}
