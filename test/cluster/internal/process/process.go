// Package process starts programs that cannot outlive their parent and tells
// processes apart by more than their id.
//
// The invariant: nothing is ever signalled unless both its id and its start
// time match what was recorded, so a reused id is never hit.
package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"syscall"
	"time"
)

// Identity names one process for good; an id alone is reused by the system.
type Identity struct {
	PID int `json:"pid"`
	// Started is the start time as the system prints it, only ever compared.
	Started string `json:"started"`
}

// Identify returns the identity of the live process pid. A zombie is not live.
func Identify(pid int) (Identity, error) {
	if pid <= 0 {
		return Identity{}, fmt.Errorf("no process has the id %d", pid)
	}
	started, err := startTime(pid)
	if err != nil {
		return Identity{}, fmt.Errorf("no running process has the id %d", pid)
	}
	return Identity{PID: pid, Started: started}, nil
}

// Alive says whether exactly this process still runs.
func (i Identity) Alive() bool {
	if i.PID <= 0 {
		return false
	}
	started, err := startTime(i.PID)
	return err == nil && started == i.Started
}

// GoCommand returns the identity of the go command that runs this program, if
// it was started by go run.
func GoCommand() (Identity, bool) {
	parent := os.Getppid()
	if filepath.Base(executable(parent)) != "go" {
		return Identity{}, false
	}
	id, err := Identify(parent)
	return id, err == nil
}

// Signal sends sig to exactly this process; one that is gone is no error.
func (i Identity) Signal(sig syscall.Signal) error {
	if !i.Alive() {
		return nil
	}
	if err := syscall.Kill(i.PID, sig); err != nil && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("sending %s to process %d: %w", sig, i.PID, err)
	}
	return nil
}

// WaitGone polls until the process is gone and says whether it went in time.
func (i Identity) WaitGone(limit time.Duration) bool {
	deadline := time.Now().Add(limit)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for i.Alive() {
		if time.Now().After(deadline) {
			return false
		}
		<-tick.C
	}
	return true
}

type launch struct {
	cmd  *exec.Cmd
	done chan error
}

// launcher returns the queue of the one thread that starts children. The
// parent-death signal fires when the starting *thread* ends, so that thread
// must live as long as the process.
var launcher = sync.OnceValue(func() chan<- launch {
	queue := make(chan launch)
	go func() {
		runtime.LockOSThread()
		for l := range queue {
			l.done <- l.cmd.Start()
		}
	}()
	return queue
})

// Start starts cmd so that the kernel kills it when this process dies, however
// it dies (Linux; elsewhere only an orderly end is covered).
func Start(cmd *exec.Cmd) error {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	dieWithParent(cmd.SysProcAttr)
	l := launch{cmd: cmd, done: make(chan error, 1)}
	launcher() <- l
	return <-l.done
}

// RunGroup runs cmd in a process group of its own and kills that whole group
// when ctx ends, because programs such as go start others in turn.
func RunGroup(ctx context.Context, cmd *exec.Cmd) error {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := Start(cmd); err != nil {
		return err
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		<-done
		return context.Cause(ctx)
	}
}
