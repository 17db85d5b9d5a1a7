package main

import (
	"errors"
	"log/slog"
	"math"
	"os"
	"runtime/debug"

	"github.com/KimMachineGun/automemlimit/memlimit"
)

// childMemory is the part of the container that is left to the processes that fetch, compile and
// test policies: one that compiles a source of the enterprise may take all of it.
const childMemory = 512 << 20

// goMemoryLimit is the limit of the Go runtime in a container with a memory limit: 90 % of it
// without the part for child processes, and at least 45 %.
func goMemoryLimit(container uint64) int64 {
	container = min(container, math.MaxInt64) // of a cgroup without a limit
	own := container / 100 * 90
	return int64(max(own-min(own, childMemory), container/100*45))
}

// limitMemory sets the limit of the Go runtime by the memory limit of the container, so that the
// garbage collector runs more often before the kernel ends the manager. GOMEMLIMIT takes
// precedence, and without a limit of the container there is none.
func limitMemory(container memlimit.Provider, logger *slog.Logger) {
	if value, isSet := os.LookupEnv("GOMEMLIMIT"); isSet {
		logger.Info("the memory limit of the Go runtime is that of GOMEMLIMIT", "GOMEMLIMIT", value)
		return
	}
	bytes, err := container()
	switch {
	case errors.Is(err, memlimit.ErrNoLimit), errors.Is(err, memlimit.ErrNoCgroup), errors.Is(err, memlimit.ErrCgroupsNotSupported):
		logger.Info("the memory of the container is not limited, and that of the Go runtime is not either")
		return
	case err != nil:
		logger.Warn("reading the memory limit of the container; the memory of the Go runtime is not limited, set GOMEMLIMIT", "error", err)
		return
	}
	limit := goMemoryLimit(bytes)
	debug.SetMemoryLimit(limit)
	logger.Info("the memory limit of the Go runtime is set by that of the container", "container", bytes, "limit", limit)
}
