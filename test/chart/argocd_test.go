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

// TestArgoCDReadsHealth runs the health check of docs/how-to/install-with-argo-cd-or-flux.md
// with Argo CD's Lua interpreter on statuses of PolicySources.
func TestArgoCDReadsHealth(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "how-to", "install-with-argo-cd-or-flux.md"))
	require.NoError(t, err)
	script := regexp.MustCompile(`(?s)policy\.lintel\.dev_PolicySource: \|\n(.*?)` + "```").FindStringSubmatch(string(page))
	require.NotNil(t, script)
	for status, want := range map[string]string{
		`nil`:             "Progressing",
		`{conditions={}}`: "Progressing",
		`{conditions={{type="Ready", status="True", observedGeneration=2, message="m"}}}`:                                                                                  "Healthy",
		`{conditions={{type="Ready", status="True", observedGeneration=1, message="of an earlier one"}}}`:                                                                  "Progressing",
		`{conditions={{type="Ready", status="False", reason="Progressing", observedGeneration=2, message="m"}}}`:                                                           "Progressing",
		`{conditions={{type="Compiled", status="True", observedGeneration=2}, {type="Ready", status="False", reason="CompileFailed", observedGeneration=2, message="m"}}}`: "Degraded",
	} {
		state := lua.NewState()
		require.NoError(t, state.DoString("obj = {metadata = {generation = 2}, status = "+status+"}\n"+strings.TrimSpace(script[1])), status)
		health := state.Get(-1).(*lua.LTable)
		assert.Equal(t, want, health.RawGetString("status").String(), status)
		assert.NotEmpty(t, health.RawGetString("message").String(), status)
		state.Close()
	}
}
