//go:build !race

// Nothing here runs in two goroutines: the race detector would only make it slow.

package management

import (
	"compress/gzip"
	"fmt"
	"net/http"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// packed answers with a text between many times a part, which packs well.
func packed(begin, part string, times int, end string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		_, _ = fmt.Fprint(z, begin, strings.Repeat(part, times), end)
		_ = z.Close()
	}
}

// TestAnAnswerTakesLittleMemory: a few bytes on the wire could take gigabytes, and end the
// manager.
func TestAnAnswerTakesLittleMemory(t *testing.T) {
	for name, handler := range map[string]http.HandlerFunc{
		"many items": packed("[", "{},", 1<<20, "{}]"),
		"many rules": packed(`[{"id":"a","rules":[`, "{},", 1<<20, "{}]}]"),
		"many ports": packed(`[{"id":"a","rules":[{"ports":[`, `"",`, 1<<20, `""]}]}]`),
		"long":       packed(`[{"id":"`, "aaaaaaaa", 1<<21, `"}]`),
	} {
		t.Run(name, func(t *testing.T) {
			tenant := tenantOf(t, handler)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			err := tenant.Policies.Load(t.Context())
			runtime.ReadMemStats(&after)
			require.True(t, Is(err, Unavailable), err)
			require.ErrorContains(t, err, "the answer")
			require.Less(t, (after.TotalAlloc-before.TotalAlloc)>>20, uint64(256), "MiB")
		})
	}
}

// TestATenantIsRememberedUpToABound: each of many networks could have as much as an answer
// may.
func TestATenantIsRememberedUpToABound(t *testing.T) {
	tenant := tenantOf(t, packed(`[{"id":"a"`, `,"x":1`, maxValues*2/3, `}]`))
	require.NoError(t, tenant.Resources("a").Load(t.Context()))
	require.NoError(t, tenant.Resources("a").Load(t.Context()))
	_, err := tenant.Resources("a").Refresh(t.Context())
	require.NoError(t, err, "it takes the place of the one before")
	err = tenant.Resources("b").Load(t.Context())
	require.True(t, Is(err, Unavailable), err)
	require.ErrorContains(t, err, "what the server has is more than")
	require.NotNil(t, tenant.Outage())
	tenant.sweep()
	_, err = tenant.Resources("b").Refresh(t.Context())
	require.NoError(t, err)

	// Written items are remembered until the next list.
	made := tenantOf(t, packed(`{"id":"a"`, `,"x":1`, maxValues*2/3, `}`))
	_, err = made.Groups.Create(t.Context(), GroupRequest{Name: "a"})
	require.NoError(t, err)
	_, found := made.Groups.Get("a")
	require.True(t, found)
	_, err = made.Networks.Create(t.Context(), NetworkRequest{Name: "a"})
	require.NoError(t, err)
	_, found = made.Networks.Get("a")
	require.False(t, found, "it is listed again")
	require.False(t, made.Networks.isListed())
}
