package webhooks

import (
	"encoding/json"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lintel-policy/lintel/policies/engine"
)

func TestDecisionLogLine(t *testing.T) {
	denial := finding("no team")
	denial.Details = map[string]string{"value": "secret-details"}
	f := newFixture(t, says(engine.Decision{Denials: []engine.Finding{denial}, Policies: 2}), nil)
	f.ask(t, "/validate/fail", podRequest)

	var line map[string]any
	require.NoError(t, json.Unmarshal(f.log.Bytes(), &line))
	assert.Positive(t, line["durationMs"])
	delete(line, "time")
	delete(line, "durationMs")
	assert.Equal(t, map[string]any{
		"level": "INFO", "msg": "decision", "uid": "u-1", "entry": "validate/fail.policies.lintel.dev",
		"operation": "CREATE", "kind": "Pod", "resource": "pods", "subresource": "", "namespace": "shop",
		"name": "web-", "user": "jane", "dryRun": true, "allowed": false, "policies": 2.0, "patch": 0.0,
		"snapshot": "sha256:0123456789abcdef",
		"denials": []any{map[string]any{
			"policy": "team.labels", "rule": "deny", "location": "team.rego:7", "source": "team",
			"revision": "sha256:abcdefabcdefabcdef", "msg": "no team",
		}},
	}, line)
	assert.NotContains(t, f.log.String(), "secret", "neither the object nor groups and extra are logged")
}

func TestDecisionLogModes(t *testing.T) {
	plain := engine.Decision{Warnings: []engine.Finding{finding("w")}}
	denied := engine.Decision{Denials: []engine.Finding{finding("d")}}
	audited := engine.Decision{Audits: []engine.Finding{finding("a")}}
	tests := []struct {
		mode                   LogMode
		plain, denied, audited bool
	}{
		{LogDenied, false, true, true},
		{"", false, true, true},
		{LogAll, true, true, true},
		{LogNone, false, false, false},
	}
	for _, test := range tests {
		logs := func(decision engine.Decision) bool {
			f := newFixture(t, says(decision), func(o *HandlerOptions) { o.Decisions.Mode = test.mode })
			f.ask(t, "/validate/fail", podRequest)
			return f.log.Len() > 0
		}
		assert.Equal(t, test.plain, logs(plain), test.mode)
		assert.Equal(t, test.denied, logs(denied), test.mode)
		assert.Equal(t, test.audited, logs(audited), test.mode)
	}
	_, err := ParseLogMode("some")
	assert.ErrorContains(t, err, `"some"`)
}

func TestEvaluationErrorsAreCounted(t *testing.T) {
	broken := finding("division by zero")
	broken.Error = true
	f := newFixture(t, says(engine.Decision{Warnings: []engine.Finding{broken, finding("a verdict")}}), nil)
	f.ask(t, "/validate/ignore", podRequest)
	assert.InDelta(t, 1, testutil.ToFloat64(f.options.Metrics.evaluationErrors.WithLabelValues("team", "team.labels")), 0)
}
