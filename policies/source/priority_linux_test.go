package source

import (
	"io"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestAChildLetsOthersGoFirst(t *testing.T) {
	program, err := os.Executable()
	require.NoError(t, err)
	child := exec.Command(program, CompileArgument)
	stdin, err := child.StdinPipe()
	require.NoError(t, err)
	child.Stdout = io.Discard
	require.NoError(t, child.Start())
	defer func() {
		require.NoError(t, stdin.Close())
		_ = child.Wait()
	}()
	require.Eventually(t, func() bool {
		// The highest priority of its threads; the system call gives 20 - nice.
		highest, err := syscall.Getpriority(syscall.PRIO_PGRP, child.Process.Pid)
		return err == nil && highest == 20-courtesy
	}, 2*time.Minute, time.Millisecond)
}
