package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/lintel-policy/lintel/test/cluster/internal/binaries"
	"github.com/lintel-policy/lintel/test/cluster/internal/process"
)

// endGrace is how long a supervisor, or what a dead one left, may take to go.
const endGrace = 30 * time.Second

// down ends the cluster and deletes its data. It returns once every process is
// gone; nothing to end is no error.
func down(ctx context.Context, dir stateDir, progress *binaries.Progress) error {
	if _, err := os.Stat(string(dir)); errors.Is(err, fs.ErrNotExist) {
		progress.Printf("no cluster in %s, nothing to do", dir)
		return nil
	}
	if err := dir.claim(); err != nil {
		return err
	}
	lock, err := process.WaitLock(ctx, dir.commandLock(), func() {
		progress.Printf("waiting for another command on %s", dir)
	})
	if err != nil {
		return fmt.Errorf("taking the state directory: %w", err)
	}
	defer lock.Unlock()

	running, err := dir.running()
	if err != nil {
		return err
	}
	if !running {
		st, err := dir.load()
		if err == nil && st == nil {
			progress.Printf("no cluster in %s, nothing to do", dir)
			return dir.clean()
		}
		return clearStale(dir, progress)
	}
	st, err := dir.load()
	if err != nil || st == nil {
		// Nothing says which process it is, but it watches for this.
		progress.Printf("the state in %s cannot be read, telling the supervisor by deleting its lock", dir)
		return abandon(ctx, dir)
	}
	if err := end(st); err != nil {
		return err
	}
	progress.Printf("cluster ended")
	return dir.clean()
}

// abandon ends a supervisor whose state is lost: it ends once its lock file is
// deleted, and that the lock on the deleted file is free says it has.
func abandon(ctx context.Context, dir stateDir) error {
	aside := dir.path(partialPrefix + "lock")
	if err := os.Rename(dir.supervisorLock(), aside); err != nil {
		return fmt.Errorf("deleting the supervisor's lock: %w", err)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, endGrace, errors.New("it does not end"))
	defer cancel()
	lock, err := process.WaitLock(ctx, aside, func() {})
	if err != nil {
		return fmt.Errorf("waiting for the supervisor: %w", err)
	}
	lock.Unlock()
	return dir.clean()
}

// end asks the supervisor to end, then makes it.
func end(st *state) error {
	if err := st.Supervisor.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	if !st.Supervisor.WaitGone(endGrace) {
		if err := st.Supervisor.Signal(syscall.SIGKILL); err != nil {
			return err
		}
		if !st.Supervisor.WaitGone(endGrace) {
			return fmt.Errorf("the supervisor (process %d) does not end", st.Supervisor.PID)
		}
	}
	return endLeftovers(st)
}

// endLeftovers ends components that outlived their supervisor, and removes what
// real Pods were in. The kernel has killed them where it can; this waits for it,
// and covers other systems.
func endLeftovers(st *state) error {
	for _, id := range st.leftovers() {
		if id.WaitGone(time.Second) {
			continue
		}
		if err := id.Signal(syscall.SIGKILL); err != nil {
			return err
		}
		if !id.WaitGone(endGrace) {
			return fmt.Errorf("process %d of the cluster does not end", id.PID)
		}
	}
	return removeControlGroups(st.Cgroup)
}

// clearStale removes what a cluster that no longer runs left behind.
func clearStale(dir stateDir, progress *binaries.Progress) error {
	st, err := dir.load()
	switch {
	case err != nil:
		progress.Printf("clearing unreadable state in %s", dir)
	case st == nil:
	case st.Reason != "":
		progress.Printf("clearing a cluster that had ended: %s", firstLine(st.Reason))
	default:
		progress.Printf("clearing a cluster whose supervisor had died")
	}
	if st != nil {
		if err := endLeftovers(st); err != nil {
			return err
		}
	}
	return dir.clean()
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}
