//go:build unix

package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// process is a command with a process group of its own, which ends with the context, and
// with the command: compilers, test programs and what tests start would otherwise outlive
// them and keep their output open. Processes that leave the group, such as the supervisor of a
// test cluster, are known by their environment and end with the command, too.
type process struct {
	*exec.Cmd
	// mark is a variable in the environment of the command and of its descendants.
	mark string
	stop func() bool
}

// markVariable has a text for each command, which starts with that of the command that this
// program is part of.
const markVariable = "LINTEL_SUITES_COMMAND"

// grace is how long a process group has after SIGTERM.
const grace = 30 * time.Second

func command(name string, args ...string) *process {
	cmd := exec.Command(name, args...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	// Not os.Getenv: Go would reuse no result of this package's tests, which have a new mark each time.
	outer, _ := syscall.Getenv(markVariable)
	return &process{Cmd: cmd, mark: markVariable + "=" + outer + "/" + rand.Text()}
}

func (p *process) start(ctx context.Context) error {
	p.Env = append(p.Environ(), p.mark)
	if err := p.Start(); err != nil {
		return err
	}
	ended := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		_ = syscall.Kill(-p.Process.Pid, syscall.SIGTERM)
		select {
		case <-ended:
		case <-time.After(grace):
			_ = syscall.Kill(-p.Process.Pid, syscall.SIGKILL)
		}
	})
	p.stop = func() bool { close(ended); return stop() }
	return nil
}

func (p *process) wait() error {
	err := p.Wait()
	p.stop()
	_ = p.kill()
	p.endDetached()
	return err
}

// kill ends the remaining processes of the process group.
func (p *process) kill() error { return syscall.Kill(-p.Process.Pid, syscall.SIGKILL) }

// endDetached ends the descendants that have left the process group. The topmost ones get SIGTERM
// and end their own children; all that are left after the grace period are killed.
func (p *process) endDetached() {
	signaled := map[int]bool{}
	for began := time.Now(); time.Since(began) < 2*grace; time.Sleep(20 * time.Millisecond) {
		left := p.detached()
		if len(left) == 0 {
			return
		}
		for pid, d := range left {
			_, hasParent := left[d.parent]
			switch {
			case time.Since(began) > grace:
				_ = d.Kill()
			case !hasParent && !signaled[pid]:
				_ = d.Signal(syscall.SIGTERM)
				signaled[pid] = true
			}
		}
		for _, d := range left {
			_ = d.Release()
		}
	}
}

// descendant is a process with its parent's id.
type descendant struct {
	*os.Process
	parent int
}

// detached finds processes by the mark, by their ids. Systems without /proc list none.
func (p *process) detached() map[int]descendant {
	found := map[int]descendant{}
	folders, _ := os.ReadDir("/proc")
	for _, folder := range folders {
		pid, err := strconv.Atoi(folder.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		// The handle comes first: it is never one of a later process with the same id.
		handle, err := os.FindProcess(pid)
		if err != nil {
			continue
		}
		environment, _ := os.ReadFile("/proc/" + folder.Name() + "/environ")
		if !hasMark(environment, p.mark) {
			_ = handle.Release()
			continue
		}
		found[pid] = descendant{handle, parentOf(pid)}
	}
	return found
}

func hasMark(environment []byte, mark string) bool {
	for variable := range bytes.SplitSeq(environment, []byte{0}) {
		if rest, ok := strings.CutPrefix(string(variable), mark); ok && (rest == "" || rest[0] == '/') {
			return true
		}
	}
	return false
}

// parentOf is field 4 of proc_pid_stat(5); 0 if the process has ended.
func parentOf(pid int) int {
	stat, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	if len(fields) < 2 {
		return 0
	}
	parent, _ := strconv.Atoi(fields[1])
	return parent
}
