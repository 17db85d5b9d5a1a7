//go:build unix

package main

import (
	"context"
	"os/exec"
	"syscall"
	"time"
)

// process is a command with a process group of its own, which ends with the context, and
// with the command: compilers, test programs and what tests start would otherwise outlive
// them and keep their output open.
type process struct {
	*exec.Cmd
	stop func() bool
}

// grace is how long a process group has after SIGTERM.
const grace = 30 * time.Second

func command(name string, args ...string) *process {
	cmd := exec.Command(name, args...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return &process{Cmd: cmd}
}

func (p *process) start(ctx context.Context) error {
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
	return err
}

// kill ends what is left of the process group.
func (p *process) kill() error { return syscall.Kill(-p.Process.Pid, syscall.SIGKILL) }
