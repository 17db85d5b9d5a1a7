package orloj

import (
	"encoding/json"
	"testing"
)

// BenchmarkJudge is what a controller asks about one Agent.
func BenchmarkJudge(b *testing.B) {
	rules, err := New()
	if err != nil {
		b.Fatal(err)
	}
	text, err := json.Marshal(map[string]any{
		"apiVersion": "orloj.dev/v1", "kind": "Agent", "metadata": map[string]any{"name": "a", "namespace": "own"},
		"spec": map[string]any{"prompt": "You are a concise summarizer.", "model_ref": "gpt-4o", "limits": map[string]any{"max_steps": 5}},
	})
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		judgement, err := rules.Judge(b.Context(), "Agent", "u", text, []byte(`{"metadata":{"name":"own"}}`), Restricted)
		if err != nil || judgement.Denied != "" {
			b.Fatal(err, judgement.Denied)
		}
	}
}
