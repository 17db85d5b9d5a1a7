package audit

import (
	"bytes"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lintel-policy/lintel/cmd/lintel/manifests"
	"github.com/lintel-policy/lintel/policies/admission"
	core "github.com/lintel-policy/lintel/policies/audit"
	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/engine"
	"github.com/lintel-policy/lintel/policies/policyset"
)

var configMaps = admission.Resource{Version: "v1", Kind: "ConfigMap", Name: "configmaps", Namespaced: true}

func passOf(t *testing.T, rego string) *pass {
	t.Helper()
	set, err := policyset.Compile(definition.Source{Name: "s", Revision: "r", Files: map[string]string{"p.rego": rego}})
	require.NoError(t, err)
	return newPass(core.New(engine.NewSnapshot(admission.BuiltinResources(), set), nil), newProgress(nil))
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

// TestProgress shows the kind, the number of objects and the rate, at most five times a second.
func TestProgress(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	now := time.Unix(1000, 0)
	p := &progress{to: &out, now: func() time.Time { return now }}
	p.begin("pods")
	for range 300 {
		now = now.Add(10 * time.Millisecond)
		p.add()
	}
	p.end()
	require.Contains(t, out.String(), "\r\x1b[Kpods: 281 objects, 100/s")
	require.Equal(t, 15+1, strings.Count(out.String(), "\r"))
	require.True(t, strings.HasSuffix(out.String(), "\r\x1b[K"))
	out.Reset()
	quiet := newProgress(&out)
	quiet.begin("pods")
	quiet.add()
	quiet.end()
	require.Empty(t, out.String(), "no terminal")
}
