package audit

import (
	"fmt"
	"testing"
	"time"

	"k8s.io/client-go/tools/cache"

	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/audit"
)

// BenchmarkReplace is the end of a list of 50,000 objects that the ledger has.
func BenchmarkReplace(b *testing.B) {
	ledger := audit.NewLedger(500)
	listed := make([]any, 50_000)
	for i := range listed {
		object := audit.Object{Kind: admission.PodKind, Namespace: fmt.Sprintf("namespace-%03d", i%50), Name: fmt.Sprintf("web-5d9c7b8f6d-%05d", i)}
		ledger.Set(object, audit.Digest{1}, nil, time.Now())
		listed[i] = cache.ExplicitKey(object.Namespace + "/" + object.Name)
	}
	resource := admission.ServedResource{Version: "v1", Kind: "Pod", Name: "pods", Namespaced: true}
	s := &sink{kind: &kind{target: audit.Target{Resource: resource}, ledger: ledger, changed: func() {}, guard: func(f func()) { f() }}, started: time.Now()}
	b.ReportAllocs()
	for b.Loop() {
		if err := s.Replace(listed, "1"); err != nil || ledger.Len() != len(listed) {
			b.Fatal(err, ledger.Len())
		}
	}
}
