package orloj

import (
	"encoding/json"
	"testing"

	v1 "github.com/lintel-policy/lintel/api/orloj/v1"
)

// BenchmarkEvaluate is what a controller asks about one Agent.
func BenchmarkEvaluate(b *testing.B) {
	rules, err := New()
	if err != nil {
		b.Fatal(err)
	}
	agent := &v1.Agent{}
	if err := json.Unmarshal([]byte(`{"apiVersion": "orloj.dev/v1", "kind": "Agent", "metadata": {"name": "a", "namespace": "own", "uid": "u"},
		"spec": {"prompt": "You are a concise summarizer.", "model_ref": "gpt-4o", "limits": {"max_steps": 5}}}`), agent); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		verdict, err := rules.Evaluate(b.Context(), agent, []byte(`{"metadata":{"name":"own"}}`), Restricted)
		if err != nil || verdict.Denied() {
			b.Fatal(err, verdict.Message())
		}
	}
}
