package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/lintel-policy/lintel/test/cluster/internal/binaries"
	"github.com/lintel-policy/lintel/test/cluster/internal/process"
)

// stopGrace is how long a component may take to end in order. The API server
// would wait a minute for open watches, and loses nothing when it is killed.
const stopGrace = 5 * time.Second

// fleet owns the component processes of one cluster. Each has a goroutine that waits for it;
// one that ends unexpectedly is reported to died.
type fleet struct {
	dir      stateDir
	paths    binaries.Set
	prober   *prober
	launcher *process.Launcher
	// changed is called with the identities of what runs after each change.
	changed func(map[string]process.Identity)
	died    func(error)

	mu      sync.Mutex
	members map[string]*member
	closed  bool // no component may start
}

type member struct {
	component
	cmd      *exec.Cmd
	identity process.Identity
	ended    chan struct{}
	stopping bool
}

// start launches c and returns once it is healthy.
func (f *fleet) start(ctx context.Context, c component) error {
	m, err := f.launch(c)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		select {
		case <-m.ended:
			cancel(errors.New("it ended"))
		case <-ctx.Done():
		}
	}()
	if err := f.prober.wait(ctx, c.health); err != nil {
		return f.failure(c.name, "did not become healthy", err)
	}
	return nil
}

func (f *fleet) runs(name string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	_, ok := f.members[name]
	return ok
}

// launch starts the process of c, unless it runs already.
func (f *fleet) launch(c component) (*member, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return nil, errors.New("the cluster is ending")
	}
	if m, ok := f.members[c.name]; ok {
		return m, nil
	}
	for _, need := range c.needs {
		if _, ok := f.members[need]; !ok {
			return nil, fmt.Errorf("%s needs %s, which is stopped; start both", c.name, need)
		}
	}
	log, err := os.OpenFile(f.dir.log(c.name), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("opening the log of %s: %w", c.name, err)
	}
	defer func() { _ = log.Close() }()
	cmd := exec.Command(f.paths[cmp.Or(c.program, c.name)], c.args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = string(f.dir), log, log
	if err := f.launcher.Start(cmd); err != nil {
		return nil, fmt.Errorf("starting %s: %w", c.name, err)
	}
	m := &member{component: c, cmd: cmd, ended: make(chan struct{})}
	// A process that has ended already has no identity; wait reports it.
	m.identity, _ = process.IdentityOf(cmd.Process.Pid)
	f.members[c.name] = m
	f.publish()
	go f.wait(m)
	return m, nil
}

func (f *fleet) wait(m *member) {
	err := m.cmd.Wait()
	f.mu.Lock()
	delete(f.members, m.name)
	f.publish()
	expected := m.stopping
	f.mu.Unlock()
	// Reported before start learns of it: this error knows the exit status.
	if !expected {
		if err == nil {
			err = errors.New("exit status 0")
		}
		f.died(f.failure(m.name, "ended by itself", err))
	}
	close(m.ended)
}

// publish needs mu.
func (f *fleet) publish() {
	running := map[string]process.Identity{}
	for name, m := range f.members {
		running[name] = m.identity
	}
	f.changed(running)
}

// failure words what went wrong with a component, with the end of its log.
func (f *fleet) failure(name, what string, err error) error {
	path := f.dir.log(name)
	content, readErr := os.ReadFile(path)
	if readErr != nil || len(content) == 0 {
		return fmt.Errorf("%s %s: %w; its log %s is empty", name, what, err, path)
	}
	return fmt.Errorf("%s %s: %w\n  the end of its log %s:\n%s", name, what, err, path, binaries.Tail(string(content), 20))
}

// stop ends the named component and waits until it is gone; it is not an error if the component
// does not run.
func (f *fleet) stop(name string) {
	f.mu.Lock()
	m, ok := f.members[name]
	if !ok {
		f.mu.Unlock()
		return
	}
	m.stopping = true
	f.mu.Unlock()

	_ = m.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-m.ended:
	case <-time.After(stopGrace):
		_ = m.cmd.Process.Kill()
		<-m.ended
	}
}

// kill ends everything immediately. The data is deleted too, so an orderly end has no benefit,
// and the API server would take its time.
func (f *fleet) kill() {
	f.mu.Lock()
	f.closed = true
	var members []*member
	for _, m := range f.members {
		m.stopping = true
		_ = m.cmd.Process.Kill()
		members = append(members, m)
	}
	f.mu.Unlock()
	for _, m := range members {
		<-m.ended
	}
}

// stopAll stops the given components against their start order.
func (f *fleet) stopAll(list []component) {
	for _, c := range slices.Backward(list) {
		f.stop(c.name)
	}
}

// startAll starts the given components in order.
func (f *fleet) startAll(ctx context.Context, list []component) error {
	for _, c := range list {
		if err := f.start(ctx, c); err != nil {
			return err
		}
	}
	return nil
}
