package orloj

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// BenchmarkJudge is what a controller asks about one Agent.
func BenchmarkJudge(b *testing.B) {
	rules, err := New()
	if err != nil {
		b.Fatal(err)
	}
	agent := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "orloj.dev/v1", "kind": "Agent", "metadata": map[string]any{"name": "a", "namespace": "own", "uid": "u"},
		"spec": map[string]any{"prompt": "You are a concise summarizer.", "model_ref": "gpt-4o", "limits": map[string]any{"max_steps": int64(5)}},
	}}
	for b.Loop() {
		verdict, err := rules.Judge(b.Context(), "Agent", agent, []byte(`{"metadata":{"name":"own"}}`), Restricted)
		if err != nil || verdict.Denied() {
			b.Fatal(err, verdict.Message())
		}
	}
}
