package external

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTextIsReadBack(t *testing.T) {
	t.Parallel()
	for _, text := range []string{`{}`, `[]`, `{"a":[1.50,12345678901234567890,null,true,"<é\n>"],"b":{}}`} {
		data, err := New("d", "r", text)
		require.NoError(t, err)
		got, err := data.Text()
		require.NoError(t, err)
		require.Equal(t, text, got)
	}
	for _, text := range []string{"", "1", `"a"`, "null", `{"a":1,"a":2}`} {
		_, err := New("d", "r", text)
		require.ErrorContains(t, err, "DataSource d", text)
	}
}

// TestDigestsOfSets: data of DataSources that are not named does not count, and missing data does.
func TestDigestsOfSets(t *testing.T) {
	t.Parallel()
	data := func(name, text string) *Data {
		one, err := New(name, "r", text)
		require.NoError(t, err)
		return one
	}
	set := Set{"a": data("a", "[1]"), "b": data("b", "[2]")}
	require.Empty(t, set.Digest(nil))
	require.Equal(t, set.Digest([]string{"a"}), Set{"a": data("a", "[1]")}.Digest([]string{"a"}))
	require.NotEqual(t, set.Digest([]string{"a"}), Set{"a": data("a", "[2]")}.Digest([]string{"a"}))
	require.NotEqual(t, set.Digest([]string{"a"}), Set(nil).Digest([]string{"a"}))
	require.NotEqual(t, set.Digest([]string{"a", "b"}), Set{"a": set["b"], "b": set["a"]}.Digest([]string{"a", "b"}))
}

// BenchmarkMemory measures the heap for each byte of data: a list of names, and records.
func BenchmarkMemory(b *testing.B) {
	for name, one := range map[string]func(int) string{
		"names": func(i int) string { return fmt.Sprintf("%q", fmt.Sprintf("registry-%06d.example.com", i)) },
		"records": func(i int) string {
			return fmt.Sprintf(`{"id":"CVE-2026-%05d","severity":"high","fixed":true,"packages":["a","b"]}`, i)
		},
	} {
		var parts []string
		for i, size := 0, 0; size < 4<<20-100; i++ {
			parts = append(parts, one(i))
			size += len(parts[i]) + 1
		}
		text := "[" + strings.Join(parts, ",") + "]"
		b.Run(name, func(b *testing.B) {
			var kept []*Data
			before := heap()
			for b.Loop() {
				data, err := New("d", "r", text)
				require.NoError(b, err)
				kept = append(kept, data)
			}
			b.ReportMetric(float64(heap()-before)/float64(len(text))/float64(len(kept)), "heap-bytes/byte")
			runtime.KeepAlive(kept)
		})
	}
}

func heap() uint64 {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}
