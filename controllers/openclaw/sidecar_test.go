package openclaw

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	v1 "github.com/lintel-policy/lintel/api/openclaw/v1"
	"github.com/lintel-policy/lintel/policies/sidecar"
	"github.com/lintel-policy/lintel/test/opaserver"
)

// TestSidecarLoadsTheConfigMap runs OPA of the gateways' version by the arguments of the
// container, on the ConfigMap of an instance as the kubelet lays it out. Only the
// addresses are others.
func TestSidecarLoadsTheConfigMap(t *testing.T) {
	l := newLibrary("")
	team := makeBundle("team", v1.ScopeTeam, "package openclaw.enterprise.models\n\ndefault allow = true\n\ndeny[\"not on Fridays\"] { input.weekday == \"friday\" }\n")
	composed := l.compose([]applied{{content: l.read(sampleBundle(t))}, {content: l.read(team)}})
	require.Nil(t, composed.failure)
	ask := runSidecar(t, mountAsKubelet(t, composed.data))
	for _, c := range []struct{ query, input, answer string }{
		{"models/allow", `{"model": {"provider": "internal"}}`, `true`},
		{"models/allow", `{"model": {"provider": "external"}, "data": {"classification": "internal"}}`, `false`},
		{"models/allow", `{"model": {"provider": "internal"}, "weekday": "friday"}`, `false`},
		{"models/deny", `{"weekday": "friday"}`, `true`}, // the enterprise's has no words
		{"actions/autonomy_level", `{"action": {"type": "read"}}`, `"autonomous"`},
		{"actions/autonomy_level", `{}`, `"blocked"`},
		{"integrations/allow", `{"connector": {"enabled": true}, "operation": "read"}`, `true`},
		{"data/classification", `{"data": {"source": "unknown"}}`, `"restricted"`},
		{"audit/retention_days", `{}`, `365`},
		{"audit/allow_delete", `{}`, `false`},
	} {
		require.JSONEq(t, c.answer, ask(c.query, c.input), "%s of %s", c.query, c.input)
	}
}

// TestSidecarLoadsPoliciesAgain: a gateway that cannot be replaced answers by the latest
// policies all the same.
func TestSidecarLoadsPoliciesAgain(t *testing.T) {
	l := newLibrary("")
	compose := func(bundles ...*v1.PolicyBundle) map[string]string {
		var all []applied
		for _, bundle := range bundles {
			all = append(all, applied{content: l.read(bundle)})
		}
		c := l.compose(all)
		require.Nil(t, c.failure)
		return c.data
	}
	allowed := makeBundle("all", v1.ScopeEnterprise, allowAll)
	tightened := makeBundle("all", v1.ScopeEnterprise, allowAll+"deny if input.data.classification == \"restricted\"\n")
	team := makeBundle("team", v1.ScopeTeam, "package openclaw.enterprise.models\nimport rego.v1\ndeny if input.weekday == \"friday\"\n")

	folder := mountAsKubelet(t, compose(allowed, team))
	ask := runSidecar(t, folder)
	answers := func(input, answer string) {
		t.Helper()
		require.Eventually(t, func() bool { return ask("models/allow", input) == answer }, time.Minute, 50*time.Millisecond, "%s: %s", input, answer)
	}
	answers(`{"data": {"classification": "restricted"}}`, "true")
	answers(`{"weekday": "friday"}`, "false")
	remount(t, folder, compose(tightened))
	answers(`{"data": {"classification": "restricted"}}`, "false")
	answers(`{"weekday": "friday"}`, "true")
	remount(t, folder, compose(allowed, team))
	answers(`{"data": {"classification": "restricted"}}`, "true")
	answers(`{"weekday": "friday"}`, "false")
}

// mountAsKubelet writes data behind the links that a kubelet makes.
func mountAsKubelet(t *testing.T, data map[string]string) string {
	t.Helper()
	folder := t.TempDir()
	remount(t, folder, data)
	return folder
}

// remount replaces what is mounted in a folder as a kubelet does: all at once behind one
// link, new links after that, and at last without those that lead nowhere any more.
func remount(t *testing.T, folder string, data map[string]string) {
	t.Helper()
	version, err := os.MkdirTemp(folder, "..2026_11_20_12_00_00.")
	require.NoError(t, err)
	for key, text := range data {
		require.NoError(t, os.WriteFile(filepath.Join(version, key), []byte(text), 0o600))
	}
	current, next := filepath.Join(folder, "..data"), filepath.Join(folder, "..data_tmp")
	before, err := os.Readlink(current)
	isNew := os.IsNotExist(err)
	require.True(t, err == nil || isNew, "%v", err)
	require.NoError(t, os.Symlink(filepath.Base(version), next))
	require.NoError(t, os.Rename(next, current))
	for key := range data {
		if err := os.Symlink(filepath.Join("..data", key), filepath.Join(folder, key)); !os.IsExist(err) {
			require.NoError(t, err)
		}
	}
	if isNew {
		return
	}
	stale, err := os.ReadDir(filepath.Join(folder, before))
	require.NoError(t, err)
	for _, file := range stale {
		if _, still := data[file.Name()]; !still {
			require.NoError(t, os.Remove(filepath.Join(folder, file.Name())))
		}
	}
	require.NoError(t, os.RemoveAll(filepath.Join(folder, before)))
}

// runSidecar gives a function that asks for a decision below openclaw.enterprise.
func runSidecar(t *testing.T, policies string) func(query, input string) string {
	t.Helper()
	address, health := opaserver.FreeAddress(t), opaserver.FreeAddress(t)
	arguments := SidecarArguments()
	for i, argument := range arguments {
		arguments[i] = strings.NewReplacer("localhost:8181", address, "0.0.0.0:8282", health, "/policies", policies).Replace(argument)
	}
	opaserver.Start(t, opaserver.Build(t, sidecar.Version), health, arguments...)
	return func(query, input string) string {
		return string(opaserver.Ask(t, address, "openclaw/enterprise/"+query, input))
	}
}
