package process

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestIdentityOutlivesNoProcess(t *testing.T) {
	self, err := IdentityOf(os.Getpid())
	require.NoError(t, err)
	require.True(t, self.Alive())

	reused := Identity{PID: self.PID, Started: "another time"}
	require.False(t, reused.Alive(), "the same id with another start time is another process")
	require.NoError(t, reused.Signal(syscall.SIGKILL), "and must not be signalled")
}

func TestZombieIsNotAlive(t *testing.T) {
	cmd := exec.Command("sleep", "60")
	require.NoError(t, Start(cmd))
	id, err := IdentityOf(cmd.Process.Pid)
	require.NoError(t, err)
	require.NoError(t, id.Signal(syscall.SIGKILL))
	require.True(t, id.WaitGone(10*time.Second), "killed and not yet waited for")
	require.Error(t, cmd.Wait())
}

func TestIdentifyNamesWhatIsMissing(t *testing.T) {
	for _, pid := range []int{-1, 0, 1 << 30} {
		_, err := IdentityOf(pid)
		require.ErrorContains(t, err, "process has the id")
	}
}

func TestLockIsExclusiveAndNoticesItsFileGoing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	lock, err := TryLock(path)
	require.NoError(t, err)
	_, err = TryLock(path)
	require.ErrorIs(t, err, ErrLocked)

	waiting := make(chan struct{})
	got := make(chan error, 1)
	go func() {
		second, err := WaitLock(t.Context(), path, func() { close(waiting) })
		if err == nil {
			second.Unlock()
		}
		got <- err
	}()
	<-waiting
	require.False(t, lock.Lost(path))
	lock.Unlock()
	require.NoError(t, <-got)

	lock, err = TryLock(path)
	require.NoError(t, err)
	defer lock.Unlock()
	require.NoError(t, os.Remove(path))
	require.True(t, lock.Lost(path))
	other, err := TryLock(path)
	require.NoError(t, err)
	defer other.Unlock()
	require.True(t, lock.Lost(path), "a new file at the same path is another lock")
}
