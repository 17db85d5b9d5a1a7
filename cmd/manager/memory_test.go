package main

import (
	"bytes"
	"errors"
	"log/slog"
	"math"
	"os"
	"runtime/debug"
	"testing"

	"github.com/KimMachineGun/automemlimit/memlimit"
	"github.com/stretchr/testify/require"
)

func TestGoMemoryLimit(t *testing.T) {
	t.Parallel()
	const mebibyte = 1 << 20
	for name, c := range map[string]struct{ container, want uint64 }{
		"small":                           {256, 115},
		"default":                         {1024, 460},
		"child processes need no more":    {1200, 568},
		"large":                           {4096, 3174},
		"a limit that no machine reaches": {1 << 43, 9 * (1 << 43) / 10},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.InDelta(t, c.want, goMemoryLimit(c.container*mebibyte)/mebibyte, 512)
			if c.container < 1<<20 {
				require.EqualValues(t, c.want, goMemoryLimit(c.container*mebibyte)/mebibyte)
			}
		})
	}
	require.Positive(t, goMemoryLimit(math.MaxUint64), "cgroups of version 1 without a limit report a large number")
}

// TestLimitMemory changes the memory limit of this process, so it runs alone.
func TestLimitMemory(t *testing.T) {
	for name, c := range map[string]struct {
		variable  string
		container memlimit.Provider
		want      int64
		log       string
	}{
		"limit":          {container: memlimit.Limit(1 << 30), want: goMemoryLimit(1 << 30), log: `"limit":483183810`},
		"GOMEMLIMIT":     {variable: "77MiB", container: memlimit.Limit(1 << 30), want: math.MaxInt64, log: `"GOMEMLIMIT":"77MiB"`},
		"no limit":       {container: func() (uint64, error) { return 0, memlimit.ErrNoLimit }, want: math.MaxInt64, log: "not limited"},
		"no cgroup":      {container: func() (uint64, error) { return 0, memlimit.ErrNoCgroup }, want: math.MaxInt64, log: "not limited"},
		"cannot be read": {container: func() (uint64, error) { return 0, errors.New("no such file") }, want: math.MaxInt64, log: `"level":"WARN"`},
		"another system": {container: func() (uint64, error) { return 0, memlimit.ErrCgroupsNotSupported }, want: math.MaxInt64, log: "not limited"},
	} {
		t.Run(name, func(t *testing.T) {
			before := debug.SetMemoryLimit(math.MaxInt64)
			defer debug.SetMemoryLimit(before)
			t.Setenv("GOMEMLIMIT", c.variable) // and restored afterwards
			if c.variable == "" {
				require.NoError(t, os.Unsetenv("GOMEMLIMIT"))
			}
			var log bytes.Buffer
			limitMemory(c.container, slog.New(slog.NewJSONHandler(&log, nil)))
			require.Equal(t, c.want, debug.SetMemoryLimit(-1))
			require.Contains(t, log.String(), c.log)
		})
	}
}
