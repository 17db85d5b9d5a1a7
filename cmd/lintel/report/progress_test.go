package report

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestProgress shows the kind, the number of objects and the rate, at most five times a second.
func TestProgress(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	now := time.Unix(1000, 0)
	p := &Progress{to: &out, now: func() time.Time { return now }}
	p.Begin("pods")
	for range 300 {
		now = now.Add(10 * time.Millisecond)
		p.Add(1)
	}
	p.End()
	require.Contains(t, out.String(), "\r\x1b[Kpods: 281 objects, 100/s")
	require.NotContains(t, out.String(), "left")
	require.Equal(t, 15+1, strings.Count(out.String(), "\r"))
	require.True(t, strings.HasSuffix(out.String(), "\r\x1b[K"))

	p.BeginOf("records", "requests", 1000)
	now = now.Add(10 * time.Second)
	p.Add(250)
	require.Contains(t, out.String(), "records: 250 requests, 25/s, 25 %, 30s left")
	out.Reset()
	quiet := NewProgress(&out)
	quiet.Begin("pods")
	quiet.Add(1)
	quiet.End()
	require.Empty(t, out.String())
}
