//go:build unix

package process

import (
	"context"
	"encoding/json"
	"os"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// argument starts the test binary as a child.
const argument = "child-of-a-test"

func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == argument {
		os.Exit(Serve(os.Stdin, os.Stdout, os.Stderr, work))
	}
	os.Exit(m.Run())
}

// work does what a request names.
func work(request string) (any, error) {
	switch request {
	case "endless":
		for {
			runtime.Gosched()
		}
	case "idle":
		select {}
	case "memory":
		var rows [][]byte
		for {
			rows = append(rows, make([]byte, 1<<20))
			runtime.KeepAlive(rows)
		}
	case "allocation at once":
		text := make([]byte, 8<<30)
		for i := range text {
			text[i] = 1
		}
		return len(text), nil
	case "memory that is free again":
		text := make([]byte, 160<<20)
		return len(text), nil
	case "output":
		return strings.Repeat("x", 4<<20), nil
	}
	// The system call returns 20 - nice, the highest of the process group.
	highest, err := syscall.Getpriority(syscall.PRIO_PGRP, 0)
	return map[string]int{"nice": 20 - highest, "variables": len(os.Environ())}, err
}

func TestLimitsOfAChild(t *testing.T) {
	t.Parallel()
	program, err := os.Executable()
	require.NoError(t, err)
	for request, c := range map[string]struct {
		timeout, minCPU time.Duration
		limit           Limit
		message         string
	}{
		"endless":                   {timeout: 2 * time.Second, limit: LimitTime, message: "longer than 2s"},
		"idle":                      {timeout: 2 * time.Second, minCPU: time.Second, message: "the machine is busy; try again"},
		"memory":                    {timeout: time.Minute, limit: LimitMemory, message: "more than 64 MiB of memory"},
		"allocation at once":        {timeout: time.Minute, limit: LimitMemory, message: "more than 64 MiB of memory"},
		"memory that is free again": {timeout: time.Minute, limit: LimitMemory, message: "more than 64 MiB of memory"},
		"output":                    {timeout: time.Minute, limit: LimitOutput, message: "more than 1 MiB of output"},
	} {
		t.Run(request, func(t *testing.T) {
			t.Parallel()
			child := Child{Program: program, Argument: argument, Timeout: c.timeout, MemoryBytes: 64 << 20, OutputBytes: 1 << 20, MinCPU: c.minCPU}
			err := child.Run(t.Context(), request, new(json.RawMessage))
			require.ErrorContains(t, err, c.message)
			if c.limit != "" {
				var limit *LimitError
				require.ErrorAs(t, err, &limit)
				require.Equal(t, c.limit, limit.Limit)
			}
		})
	}
}

func TestAChildHasLowPriorityAndFewVariables(t *testing.T) {
	program, err := os.Executable()
	require.NoError(t, err)
	t.Setenv("ORLOJ_POSTGRES_DSN", "secret")
	var answer map[string]int
	child := Child{Program: program, Argument: argument, Timeout: time.Minute, MemoryBytes: 64 << 20, OutputBytes: 1 << 20}
	require.NoError(t, child.Run(t.Context(), "", &answer))
	require.Equal(t, niceness, answer["nice"])
	require.Less(t, answer["variables"], 1+len(runtimeVariables)+1)
}

func TestAChildEndsWithItsCaller(t *testing.T) {
	t.Parallel()
	program, err := os.Executable()
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	child := Child{Program: program, Argument: argument, Timeout: time.Minute, MemoryBytes: 64 << 20, OutputBytes: 1 << 20}
	require.ErrorIs(t, child.Run(ctx, "idle", nil), context.DeadlineExceeded)
}
