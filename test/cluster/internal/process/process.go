// Package process starts programs that cannot outlive their parent and identifies processes by
// more than their id.
//
// The invariant: nothing is ever signalled unless both its id and its start time match the
// recorded ones, so a reused id is never hit.
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

// IdentityOf returns the identity of the live process pid. A zombie is not live.
func IdentityOf(pid int) (Identity, error) {
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
	id, err := IdentityOf(parent)
	return id, err == nil
}

// Signal sends sig to exactly this process; it is not an error if the process has ended.
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

// Launcher starts programs that the kernel kills when this process dies, however
// it dies (Linux; elsewhere only an orderly end is covered).
type Launcher struct {
	queue chan<- launch
	// inside says that programs start in other namespaces, and end with these.
	inside bool
}

// newLauncher starts the one thread that starts children, once it has prepared
// itself. The parent-death signal fires when the starting *thread* ends, so that
// thread must live as long as the process.
func newLauncher(prepare func() error) (*Launcher, error) {
	queue := make(chan launch)
	ready := make(chan error)
	go func() {
		runtime.LockOSThread() // for good: a thread that was changed is not given back
		err := prepare()
		ready <- err
		if err != nil {
			return
		}
		for l := range queue {
			l.done <- l.cmd.Start()
		}
	}()
	return &Launcher{queue: queue}, <-ready
}

// Here starts programs in the namespaces of this one.
var Here = sync.OnceValue(func() *Launcher {
	launcher, _ := newLauncher(func() error { return nil })
	return launcher
})

// Start starts cmd in the namespaces of this program; see Launcher.
func Start(cmd *exec.Cmd) error { return Here().Start(cmd) }

// RunGroup runs cmd in the namespaces of this program; see Launcher.
func RunGroup(ctx context.Context, cmd *exec.Cmd) error { return Here().RunGroup(ctx, cmd) }

// Start starts cmd.
func (l *Launcher) Start(cmd *exec.Cmd) error {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	if !l.inside {
		dieWithParent(cmd.SysProcAttr)
	}
	next := launch{cmd: cmd, done: make(chan error, 1)}
	l.queue <- next
	return <-next.done
}

// RunGroup runs cmd in a process group of its own and kills that whole group
// when ctx ends, because programs such as go start others in turn.
func (l *Launcher) RunGroup(ctx context.Context, cmd *exec.Cmd) error {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := l.Start(cmd); err != nil {
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
