package binaries

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// watch runs a step for a while.
func watch(p *Progress, what string, status func() string, duration time.Duration, err error) error {
	return p.Watch(what, status, func() error {
		time.Sleep(duration)
		return err
	})
}

func TestProgressIsWholeLinesWithoutATerminal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		p := NewProgress(&out, 10*time.Second)
		require.NoError(t, watch(p, "building x (1 of 2)", func() string { return "about 1 minute left" }, 25*time.Second, nil))
		require.NoError(t, watch(p, "building y (2 of 2)", nil, 500*time.Millisecond, nil))
		require.Equal(t, "building x (1 of 2) …\n"+
			"building x (1 of 2) … 10s, about 1 minute left\n"+
			"building x (1 of 2) … 20s, about 1 minute left\n"+
			"building x (1 of 2) … done in 25s\n", out.String(), "what takes less than a second is not worth a line")
	})
}

// screen is the content of a terminal after text is written, without wrapped lines.
func screen(text string) []string {
	var lines []string
	for line := range strings.SplitSeq(text, "\n") {
		if i := strings.LastIndex(line, "\r\x1b[K"); i >= 0 {
			line = line[i+len("\r\x1b[K"):]
		}
		lines = append(lines, line)
	}
	return lines
}

func TestProgressIsOneLineInATerminal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		p := &Progress{out: &out, every: redraw, width: func() int { return 30 }}
		shown := make(chan []string, 1)
		require.NoError(t, p.Watch("building kube-apiserver (1 of 2)", func() string { return "about 2 minutes left" }, func() error {
			time.Sleep(5*time.Second + redraw/2)
			shown <- screen(out.String())
			return nil
		}))
		require.Equal(t, []string{"building kube-apiserver (1 o…"}, <-shown, "cut, and never wrapped")
		p.Printf("and then")
		require.Error(t, watch(p, "building etcd (2 of 2)", nil, 5*time.Second, errors.New("no")))
		require.Equal(t, []string{"building kube-apiserver (1 of 2) … done in 5.1s", "and then", ""}, screen(out.String()),
			"a failure leaves no half line")
	})
}

func TestTruncate(t *testing.T) {
	for columns, want := range map[int]string{0: "", 1: "…", 4: "abc…", 5: "abcdé", 80: "abcdé"} {
		require.Equal(t, want, truncate("abcdé", columns), columns)
	}
}

func TestEstimateLearnsTheSpeed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cache := t.TempDir()
		tasks := []task{{packages: 1000, flavour: fast, programs: []program{{name: "x"}}}}
		e := newEstimate(cache, tasks)
		for range 500 {
			time.Sleep(200 * time.Millisecond) // 5 a second
			e.compiled("example.com/package")
			e.compiled("go: downloading example.com/module v1.0.0")
			e.compiled("# example.com/package")
		}
		require.InDelta(t, 100, e.left().Seconds(), 1, "measured now, 500 packages are left")
		require.Equal(t, "about 2 minutes left", e.String())
		require.NoError(t, e.record())

		next := newEstimate(cache, tasks)
		require.InDelta(t, 200, next.left().Seconds(), 1, "known from before")
		slower := newEstimate(cache, []task{{packages: 1000, flavour: optimized}})
		require.InDelta(t, 200*optimized.cost, slower.left().Seconds(), 2)
	})
}

func TestRoughly(t *testing.T) {
	for duration, want := range map[time.Duration]string{
		3 * time.Second: "10 seconds", 44 * time.Second: "40 seconds", 100 * time.Second: "2 minutes", 9 * time.Minute: "9 minutes",
	} {
		require.Equal(t, want, roughly(duration))
	}
}
