package audit_test

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lintel-policy/lintel/policies/audit"
)

// BenchmarkLedgerMemory measures the memory of a ledger with the objects of a large cluster, of which
// 1 % violate a policy. Names and namespaces are new texts, as after decoding.
func BenchmarkLedgerMemory(b *testing.B) {
	const objects = 50_000
	heap := func() uint64 {
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	for b.Loop() {
		before := heap()
		ledger := audit.NewLedger(500)
		for i := range objects {
			var results []audit.Result
			if i%100 == 0 {
				results = []audit.Result{failure("p", "no team")}
			}
			ledger.Set(podNamed(fmt.Sprintf("namespace-%03d", i%50), fmt.Sprintf("web-5d9c7b8f6d-%05d", i)), digest(i), results, now)
		}
		b.ReportMetric(float64(heap()-before)/objects, "B/object")
		require.Equal(b, objects, ledger.Len())
	}
}
