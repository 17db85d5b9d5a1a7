package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lintel-policy/lintel/test/installation"
	"github.com/stretchr/testify/require"
)

// holdLock makes this test binary take a lock in a process of its own, and showIn makes it run
// as the quickstart.
const (
	holdLock = "LINTEL_TEST_HOLD_LOCK"
	showIn   = "LINTEL_TEST_SHOW_IN"
)

func TestMain(m *testing.M) {
	if stateDir := os.Getenv(showIn); stateDir != "" {
		os.Exit(exitCode(stateDir))
	}
	if path := os.Getenv(holdLock); path != "" {
		if _, err := takeLock(path); err != nil {
			os.Exit(1)
		}
		os.Stdout.WriteString("taken\n")
		time.Sleep(time.Minute)
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func TestLock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "new", "run.lock")
	release, err := takeLock(path)
	require.NoError(t, err)
	_, err = takeLock(path)
	require.ErrorIs(t, err, errTaken)
	release()
	release, err = takeLock(path)
	require.NoError(t, err, "the file stays, the lock does not")
	release()
}

func TestLockGoesWithItsProcess(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run.lock")
	other := exec.Command(os.Args[0])
	other.Env = append(os.Environ(), holdLock+"="+path)
	output, err := other.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, other.Start())
	_, err = output.Read(make([]byte, 1))
	require.NoError(t, err)
	_, err = takeLock(path)
	require.ErrorIs(t, err, errTaken)

	require.NoError(t, other.Process.Kill())
	_ = other.Wait()
	release, err := takeLock(path)
	require.NoError(t, err)
	release()
}

func TestASecondRunIsToldWhereTheClusterIs(t *testing.T) {
	dir := t.TempDir()
	require.ErrorContains(t, runsAlready(dir), "still starting")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "kubeconfig"), nil, 0o600))
	require.ErrorContains(t, runsAlready(dir), "export KUBECONFIG="+filepath.Join(dir, "kubeconfig"))
}

type fakeProgram struct{ ended chan struct{} }

var errEnded = errors.New("manager ended; its log is here")

func (p fakeProgram) Ended() <-chan struct{} { return p.ended }
func (p fakeProgram) Failure() error         { return errEnded }

func TestTheEndOfTheManagerIsTheError(t *testing.T) {
	waits := func(ctx context.Context) error { <-ctx.Done(); return nil }
	fails := func(ctx context.Context) error { <-ctx.Done(); return errors.New("kubectl: killed") }
	for _, do := range []func(context.Context) error{waits, fails} {
		p := fakeProgram{make(chan struct{})}
		close(p.ended)
		require.ErrorIs(t, whileItRuns(t.Context(), p, do), errEnded)

		interrupted, cancel := context.WithCancel(t.Context())
		cancel()
		require.NotErrorIs(t, whileItRuns(interrupted, fakeProgram{make(chan struct{})}, do), errEnded)
	}
	own := errors.New("own")
	require.Equal(t, own, whileItRuns(t.Context(), fakeProgram{make(chan struct{})}, func(context.Context) error { return own }))
}

func TestTheClusterOutlivesARemovedLintel(t *testing.T) {
	always := func(is bool) func() bool { return func() bool { return is } }
	require.ErrorIs(t, goOnWithout(t.Context(), errEnded, always(false)), errEnded)
	require.NoError(t, goOnWithout(t.Context(), nil, always(true)))

	synctest.Test(t, func(t *testing.T) {
		ctx, interrupt := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- goOnWithout(ctx, errEnded, always(true)) }()
		synctest.Wait()
		require.Empty(t, ended, "it waits")
		interrupt()
		require.NoError(t, <-ended)
	})
}

func TestHandOver(t *testing.T) {
	var b bytes.Buffer
	s := &site{Cluster: &installation.Cluster{Kubeconfig: "/k"}, note: "without nodes\n"}
	s.Binaries.Kubectl, s.Binaries.Lintel = "/a/kubectl", "/b/lintel"
	handOver(&b, s, "/log")
	require.Contains(t, b.String(), "export KUBECONFIG=/k\n")
	require.Contains(t, b.String(), "export PATH=/a:/b:$PATH ")
	require.Contains(t, b.String(), "\n\nwithout nodes\nThe manager's log: /log\n")
}

// TestInterruptedWhileTheClusterStarts: Ctrl-C leaves nothing, and says so.
func TestInterruptedWhileTheClusterStarts(t *testing.T) {
	t.Parallel()
	stateDir := filepath.Join(t.TempDir(), "run")
	quickstart := exec.CommandContext(t.Context(), os.Args[0])
	quickstart.Env = append(os.Environ(), showIn+"="+stateDir)
	output, err := quickstart.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, quickstart.Start())
	var said []string
	lines := bufio.NewScanner(output)
	for lines.Scan() {
		said = append(said, lines.Text())
		if lines.Text() == "starting kube-apiserver …" {
			require.NoError(t, quickstart.Process.Signal(os.Interrupt))
		}
	}
	_ = quickstart.Wait()
	require.Equal(t, 130, quickstart.ProcessState.ExitCode(), said)
	require.Equal(t, "interrupted; everything has been stopped", said[len(said)-1])
	require.NotContains(t, strings.Join(said, "\n"), "error")

	// The supervisor holds its lock until its last process has ended.
	release, err := takeLock(filepath.Join(stateDir, "supervisor.lock"))
	require.NoError(t, err)
	release()
}
