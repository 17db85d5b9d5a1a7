//go:build !race

// Nothing here runs in two goroutines: the race detector would only make it slow.

package management

import (
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestGroupsOfAnAccountWithManyPeers are read within a bound of memory: All has 100,000
// peers, and two other groups have them, too.
func TestGroupsOfAnAccountWithManyPeers(t *testing.T) {
	const peers, groups = 100_000, 3
	written := 0
	tenant := tenantOf(t, func(w http.ResponseWriter, _ *http.Request) {
		n, _ := io.WriteString(w, "[")
		written += n
		for g := range groups {
			n, _ = fmt.Fprintf(w, `{"id":"g%d","name":"group %d","issued":"api","peers":[`, g, g)
			written += n
			for p := range peers {
				if p > 0 {
					_, _ = io.WriteString(w, ",")
				}
				n, _ = fmt.Fprintf(w, `{"id":"csrfj3rl0ubs73%06d","name":"peer-%06d.openzro.selfhosted"}`, p, p)
				written += n
			}
			_, _ = io.WriteString(w, `],"resources":null}`)
			if g < groups-1 {
				_, _ = io.WriteString(w, ",")
			}
		}
		_, _ = io.WriteString(w, "]")
	})
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	require.NoError(t, tenant.Groups.Load(t.Context()))
	runtime.GC()
	runtime.ReadMemStats(&after)
	require.Greater(t, written, maxAnswer, "more than an answer that is read at a time")
	require.Len(t, tenant.Groups.All(), groups)
	for _, g := range tenant.Groups.All() {
		require.Equal(t, peers, g.PeersCount)
		require.Empty(t, g.Peers)
		require.False(t, g.IsEmpty())
	}
	require.Less(t, int64(after.HeapAlloc)-int64(before.HeapAlloc), int64(4<<20))
}

// TestListsOfGroupsThatAreRefused: endless, broken, or of another kind.
func TestListsOfGroupsThatAreRefused(t *testing.T) {
	for name, test := range map[string]struct {
		answer http.HandlerFunc
		want   string
	}{
		"a long name":     {packed(`[{"id":"a","name":"`, "aaaaaaaa", 1<<20, `"}]`), "value longer than"},
		"a long member":   {packed(`[{"id":"a","peers":["`, "aaaaaaaa", 1<<20, `"]}]`), "value longer than"},
		"many groups":     {packed(`[`, `{"id":"a"},`, maxValues, `{}]`), "more than"},
		"a deep value":    {packed(`[{"peers":`, `[`, 1<<20, ``), "nested deeper"},
		"no list":         {packed(`{"groups":[]}`, "", 0, ""), "not that of a management server"},
		"no objects":      {packed(`["a"]`, "", 0, ""), "not that of a management server"},
		"a number as ID":  {packed(`[{"id":5}]`, "", 0, ""), "not that of a management server"},
		"an answer's end": {packed(`[{"id":"a","peers":[{`, "", 0, ""), "EOF"},
		"no JSON":         {packed(`<html>`, "", 0, ""), "not that of a management server"},
	} {
		t.Run(name, func(t *testing.T) {
			tenant := tenantOf(t, test.answer)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			err := tenant.Groups.Load(t.Context())
			runtime.ReadMemStats(&after)
			require.True(t, Is(err, Unavailable), err)
			require.ErrorContains(t, err, test.want)
			require.Less(t, (after.TotalAlloc-before.TotalAlloc)>>20, uint64(256), "MiB")
		})
	}
	empty := tenantOf(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "null") })
	require.NoError(t, empty.Groups.Load(t.Context()))
}

// TestAListThatShrinks checks that a list which lacks all or most items is confirmed by another
// one, a while later. Until then the known items stay, and no read is recorded.
func TestAListThatShrinks(t *testing.T) {
	for left := range 2 {
		s := newStore("a", "b", "c", "d")
		tenant := tenantOf(t, s.ServeHTTP)
		clock := tenant.now()
		tenant.now = func() time.Time { return clock }
		require.NoError(t, tenant.Groups.Load(t.Context()))
		read := tenant.Groups.lastRead()
		clock = clock.Add(time.Minute)
		for _, name := range strings.Split("abcd", "")[left:] {
			delete(s.groups, "id-"+name)
		}
		_, err := tenant.Groups.Refresh(t.Context())
		require.ErrorContains(t, err, fmt.Sprintf("the list has %d of the 4 items", left))
		require.Len(t, tenant.Groups.All(), 4)
		require.Equal(t, read, tenant.Groups.lastRead())
		require.Equal(t, clock.Add(confirmPause), tenant.Due(time.Hour))
		clock = clock.Add(confirmPause - 1)
		_, err = tenant.Groups.Refresh(t.Context())
		require.Error(t, err, "too soon")

		s.put("b", "c", "d")
		_, err = tenant.Groups.Refresh(t.Context())
		require.NoError(t, err)
		for _, name := range strings.Split("abcd", "")[left:] {
			delete(s.groups, "id-"+name)
		}
		_, err = tenant.Groups.Refresh(t.Context())
		require.Error(t, err, "an answer in between was as before")
		clock = clock.Add(confirmPause)
		changed, err := tenant.Groups.Refresh(t.Context())
		require.NoError(t, err)
		require.True(t, changed)
		require.Len(t, tenant.Groups.All(), left)
	}
}
