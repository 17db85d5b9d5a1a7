package webhooks

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/engine"
)

func TestDecisionLogLine(t *testing.T) {
	denial := finding("no team")
	denial.Details = map[string]string{"missing": "team"}
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
			"revision": "sha256:abcdefabcdefabcdef", "msg": "no team", "details": `{"missing":"team"}`,
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

// TestDetailsAreMasked: details may have values of the object, and are as secret as these.
func TestDetailsAreMasked(t *testing.T) {
	mask, err := ParseMask([]string{"/spec/containers/*/env/*/value"})
	require.NoError(t, err)
	review := func(kind, object string) *admission.Review {
		request, err := admission.NewReview([]byte(`{"uid":"u","operation":"CREATE","kind":{"version":"v1","kind":"` + kind + `"},"resource":{"version":"v1","resource":"x"},"name":"a","namespace":"b","object":` + object + `}`))
		require.NoError(t, err)
		return request
	}
	pod := `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a"},"spec":{"containers":[{"name":"web","env":[{"name":"KEY","value":"hunter2"}]}]}}`
	secret := `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"a"},"data":{"key":"aHVudGVyMg=="}}`
	for name, c := range map[string]struct {
		review  *admission.Review
		details any
		want    string
	}{
		"a value of another place":          {review("Pod", pod), map[string]any{"container": "web"}, `{"container":"web"}`},
		"a masked value":                    {review("Pod", pod), map[string]any{"env": []any{"hunter2"}}, `{"env":["masked"]}`},
		"a text that contains one":          {review("Pod", pod), map[string]any{"text": "KEY=hunter2"}, `{"text":"masked"}`},
		"a key":                             {review("Pod", pod), map[string]any{"hunter2": 1}, `{"masked":1}`},
		"details of a Secret, also decoded": {review("Secret", secret), map[string]any{"decoded": "hunter2"}, "masked"},
	} {
		got := DecisionLog{Mask: mask}.loggedFindings([]engine.Finding{{Words: "w", Details: c.details}}, c.review)
		require.Equal(t, c.want, got[0].Details, name)
	}
	long := DecisionLog{}.loggedFindings([]engine.Finding{{Words: "w", Details: strings.Repeat("x", 1<<20)}}, review("Pod", pod))
	require.LessOrEqual(t, len(long[0].Details), maxLoggedWords+len("…"))
}
