package openclaw

import (
	"bytes"
	"encoding/json"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	v1 "github.com/lintel-policy/lintel/api/openclaw/v1"
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
		{"models/deny", `{"weekday": "friday"}`, `["not on Fridays"]`},
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

// mountAsKubelet writes data behind the links that a kubelet makes.
func mountAsKubelet(t *testing.T, data map[string]string) string {
	t.Helper()
	folder := t.TempDir()
	const version = "..2026_11_20_12_00_00.1"
	require.NoError(t, os.Mkdir(filepath.Join(folder, version), 0o755))
	require.NoError(t, os.Symlink(version, filepath.Join(folder, "..data")))
	for key, text := range data {
		require.NoError(t, os.WriteFile(filepath.Join(folder, version, key), []byte(text), 0o600))
		require.NoError(t, os.Symlink(filepath.Join("..data", key), filepath.Join(folder, key)))
	}
	return folder
}

// runSidecar gives a function that asks for a decision below openclaw.enterprise.
func runSidecar(t *testing.T, policies string) func(query, input string) string {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "opa")
	output, err := exec.CommandContext(t.Context(), "go", "build", "-C", filepath.Join("..", "..", "test", "opa"),
		"-o", binary, "github.com/open-policy-agent/opa").CombinedOutput()
	require.NoError(t, err, "%s", output)
	address, health := freeAddress(t), freeAddress(t)
	arguments := SidecarArguments()
	for i, argument := range arguments {
		arguments[i] = strings.NewReplacer("localhost:8181", address, "0.0.0.0:8282", health, "/policies", policies).Replace(argument)
	}
	var log bytes.Buffer
	server := exec.Command(binary, arguments...)
	server.Stdout, server.Stderr = &log, &log
	require.NoError(t, server.Start())
	t.Cleanup(func() {
		if err := server.Process.Kill(); err != nil {
			t.Error(err)
		}
		_ = server.Wait() // killed
	})
	require.Eventually(t, func() bool {
		response, err := http.Get("http://" + health + "/health")
		if err != nil {
			return false
		}
		defer response.Body.Close()
		return response.StatusCode == http.StatusOK
	}, time.Minute, 20*time.Millisecond, "OPA is not healthy: %s", &log)
	return func(query, input string) string {
		response, err := http.Post("http://"+address+"/v1/data/openclaw/enterprise/"+query, "application/json", strings.NewReader(`{"input": `+input+`}`))
		require.NoError(t, err)
		defer response.Body.Close()
		var answer struct{ Result json.RawMessage }
		require.NoError(t, json.NewDecoder(response.Body).Decode(&answer))
		return string(answer.Result)
	}
}

func freeAddress(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "localhost:0")
	require.NoError(t, err)
	defer listener.Close()
	return listener.Addr().String()
}
