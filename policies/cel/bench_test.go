package cel_test

import (
	"runtime"
	"testing"

	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/engine"
)

func BenchmarkCompile(b *testing.B) {
	text := vap("  validations: [{expression: 'object.data.a == \"y\"'}]") + bound(denies)
	var kept []any
	var before, after runtime.MemStats
	_, _ = compileText(text)
	runtime.GC()
	runtime.ReadMemStats(&before)
	for b.Loop() {
		set, err := compileText(text)
		if err != nil {
			b.Fatal(err)
		}
		kept = append(kept, set)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/float64(len(kept)), "B-kept/op")
}

func BenchmarkEvaluate(b *testing.B) {
	set, err := compileText(vap("  validations: [{expression: 'object.data.a == \"x\"'}, {expression: 'object.metadata.labels.all(k, k != \"\")'}]") + bound(denies))
	if err != nil {
		b.Fatal(err)
	}
	snapshot := engine.NewSnapshot(admission.BuiltinResources(), set)
	review, err := admission.NewReview([]byte(`{"uid":"u","kind":{"group":"","version":"v1","kind":"ConfigMap"},"resource":{"group":"","version":"v1","resource":"configmaps"},
		"name":"c","namespace":"team","operation":"CREATE","userInfo":{"username":"alice"},"object":{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c","namespace":"team","labels":{"a":"b"}},"data":{"a":"x"}},"oldObject":null,"dryRun":false}`))
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if !snapshot.Validate(b.Context(), review, engine.Options{}).Allowed() {
			b.Fatal("denied")
		}
	}
}
