package audit

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lintel-policy/lintel/cmd/lintel/manifests"
	"github.com/lintel-policy/lintel/cmd/lintel/report"
	"github.com/lintel-policy/lintel/policies/admission"
	core "github.com/lintel-policy/lintel/policies/audit"
	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/engine"
	"github.com/lintel-policy/lintel/policies/policyset"
)

var configMaps = admission.ServedResource{Version: "v1", Kind: "ConfigMap", Name: "configmaps", Namespaced: true}

func passOf(t *testing.T, rego string) *pass {
	t.Helper()
	set, err := policyset.Compile(definition.Source{Name: "s", Revision: "r", Files: map[string]string{"p.rego": rego}})
	require.NoError(t, err)
	return newPass(core.New(engine.NewSnapshot(admission.BuiltinResources(), set), nil), report.NewProgress(nil))
}

// TestMemoryOfAPass: evaluated objects are dropped.
func TestMemoryOfAPass(t *testing.T) {
	const count, allowed = 20_000, 4 << 20
	p := passOf(t, "package p\nimport rego.v1\ndeny contains \"large\" if count(input.request.object.data.key) > 5000")
	payload := strings.Repeat("x", 2000)
	p.begin("configmaps")
	var first uint64
	for i := range count {
		text := fmt.Appendf(nil, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c-%d","namespace":"shop"},"data":{"key":%q}}`, i, payload)
		objects, err := manifests.Parse("the cluster", text)
		require.NoError(t, err)
		require.NoError(t, p.evaluate(t.Context(), text, configMaps, objects[0]))
		if i == 500 {
			first = heap()
		}
	}
	require.Less(t, heap(), first+allowed)
	p.end()
	require.Equal(t, count, p.report().Summary.Objects)
}

func heap() uint64 {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}
