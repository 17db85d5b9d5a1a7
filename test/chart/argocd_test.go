package chart

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	lua "github.com/yuin/gopher-lua"
)

// healthCheck is the script that a page shows for argocd-cm.
func healthCheck(t *testing.T, kind string, page ...string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(append([]string{"..", "..", "docs"}, page...)...))
	require.NoError(t, err)
	script := regexp.MustCompile(`(?s)` + regexp.QuoteMeta("customizations.health."+kind+": |") + `\n(.*?)` + "```").FindStringSubmatch(string(text))
	require.NotNil(t, script)
	return strings.TrimSpace(script[1])
}

// TestArgoCDReadsHealth runs the health checks of the pages about Argo CD with its Lua
// interpreter.
func TestArgoCDReadsHealth(t *testing.T) {
	t.Parallel()
	policySource := healthCheck(t, "policy.lintel.dev_PolicySource", "how-to", "install-with-argo-cd-or-flux.md")
	orloj := healthCheck(t, "orloj.dev_*", "orloj", "manage-with-argo-cd-or-flux.md")
	const (
		waiting  = `{conditions={{type="Ready", status="False", reason="Progressing", observedGeneration=2, message="m"}}}`
		ready    = `{conditions={{type="Ready", status="True", observedGeneration=2, message="m"}}}`
		outdated = `{conditions={{type="Ready", status="True", observedGeneration=1, message="of an earlier one"}}}`
	)
	for _, test := range []struct{ script, status, want string }{
		{policySource, `nil`, "Progressing"},
		{policySource, `{conditions={}}`, "Progressing"},
		{policySource, ready, "Healthy"},
		{policySource, outdated, "Progressing"},
		{policySource, waiting, "Progressing"},
		{policySource, `{conditions={{type="Compiled", status="True", observedGeneration=2}, {type="Ready", status="False", reason="CompileFailed", observedGeneration=2, message="m"}}}`, "Degraded"},
		{orloj, `nil`, "Progressing"},
		{orloj, ready, "Healthy"},
		{orloj, outdated, "Progressing"},
		{orloj, waiting, "Progressing"},
		{orloj, `{conditions={{type="Ready", status="False", observedGeneration=2, message="m"}, {type="Stalled", status="True", observedGeneration=2, message="m"}}}`, "Degraded"},
	} {
		state := lua.NewState()
		require.NoError(t, state.DoString("obj = {metadata = {generation = 2}, status = "+test.status+"}\n"+test.script), test.status)
		health := state.Get(-1).(*lua.LTable)
		assert.Equal(t, test.want, health.RawGetString("status").String(), test.status)
		if test.script == policySource {
			assert.NotEmpty(t, health.RawGetString("message").String(), test.status)
		}
		state.Close()
	}
}
