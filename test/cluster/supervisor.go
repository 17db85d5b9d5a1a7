package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/lintel-policy/lintel/test/cluster/internal/binaries"
	"github.com/lintel-policy/lintel/test/cluster/internal/process"
)

// keepWord is what up writes when it has seen the cluster ready. Until then
// the end of up, however it comes, ends the cluster.
const keepWord = "keep"

// event is one line from the supervisor to the up command that started it.
type event struct {
	Progress string `json:"progress,omitempty"`
	Error    string `json:"error,omitempty"`
	Ready    bool   `json:"ready,omitempty"`
}

// Reasons for an end that is not a failure: the data goes with the cluster.
var (
	errAsked      = errors.New("it was asked to end")
	errUpEnded    = errors.New("the up command ended before the cluster was ready")
	errOwnersGone = errors.New("the processes that own the cluster have ended")
	errStateGone  = errors.New("its state directory was deleted")
	errGoRunGone  = errors.New("the go command that ran this has ended")
)

// supervisor owns all processes of one cluster. It restarts nothing: when a
// component dies, it records that and ends the cluster.
type supervisor struct {
	dir   stateDir
	all   []component
	fleet *fleet
	node  *node // nil with kwok
	out   *json.Encoder
	end   context.CancelCauseFunc

	mu    sync.Mutex // guards state and out
	state *state
	// order serialises stopping and starting of components.
	order sync.Mutex
}

// supervise runs the cluster that up prepared in dir until it has to end.
func supervise(dir stateDir, timeout time.Duration, in io.Reader, out io.Writer) error {
	// Writing to an up that was killed must not kill the supervisor, which has
	// the cluster to end first.
	signal.Ignore(syscall.SIGPIPE, syscall.SIGHUP)
	ctx, end := context.WithCancelCause(context.Background())
	defer end(nil)

	lock, err := process.TryLock(dir.supervisorLock())
	if err != nil {
		return fmt.Errorf("taking over %s: %w", dir, err)
	}
	defer lock.Unlock()
	s, err := newSupervisor(dir, json.NewEncoder(out), end)
	if err != nil {
		return err
	}
	control, err := s.listen()
	if err != nil {
		return err
	}
	defer control()
	if err := s.save(); err != nil {
		return err
	}

	terminated := make(chan os.Signal, 1)
	signal.Notify(terminated, syscall.SIGTERM, os.Interrupt)
	go func() {
		<-terminated
		end(errAsked)
	}()
	go s.watchUp(in)
	go s.watchPurpose(ctx, lock)
	brought := make(chan struct{})
	go func() {
		defer close(brought)
		if err := s.bringUp(ctx, timeout); err != nil {
			end(err)
		}
	}()

	<-ctx.Done()
	s.fleet.kill()
	<-brought
	if s.node != nil {
		s.node.end()
	}
	return s.finish(context.Cause(ctx))
}

func newSupervisor(dir stateDir, out *json.Encoder, end context.CancelCauseFunc) (*supervisor, error) {
	st, err := dir.load()
	if err != nil {
		return nil, err
	}
	if st == nil {
		return nil, fmt.Errorf("no cluster was prepared in %s", dir)
	}
	var stages []string
	if st.Nodes != realNodes && st.has(binaries.Kwok) {
		if stages, err = stageFiles(st.Binaries[binaries.KwokStages]); err != nil {
			return nil, err
		}
	}
	if st.Supervisor, err = process.IdentityOf(os.Getpid()); err != nil {
		return nil, err
	}
	s := &supervisor{dir: dir, state: st, all: listComponents(dir, st, stages), out: out, end: end}
	s.fleet = &fleet{
		dir: dir, paths: st.Binaries, prober: newProber(nil), launcher: process.Here(),
		members: map[string]*member{}, changed: s.recordComponents, died: end,
	}
	return s, nil
}

// bringUp starts everything in order and reports to up.
func (s *supervisor) bringUp(ctx context.Context, timeout time.Duration) error {
	ctx, cancel := context.WithTimeoutCause(ctx, timeout,
		fmt.Errorf("not ready within %s; allow more with --timeout", timeout))
	defer cancel()
	if s.state.Nodes == realNodes {
		s.announce("starting the node")
		if err := s.startNode(ctx); err != nil {
			return err
		}
	}
	for _, c := range s.all {
		var err error
		switch c.name {
		case binaries.Etcd, binaries.APIServer:
			s.announce("starting " + c.name)
			err = s.fleet.start(ctx, c)
		case binaries.CertManager, binaries.Kubelet: // need definitions, or images, first
		default:
			_, err = s.fleet.launch(c)
		}
		if err != nil {
			return err
		}
	}
	if s.state.has(binaries.ControllerManager) {
		s.announce("starting controllers, scheduler and node")
	}
	if err := s.populate(ctx); err != nil {
		return err
	}
	if err := s.fleet.startAll(ctx, s.all); err != nil {
		return err
	}
	s.mu.Lock()
	s.state.Phase = phaseReady
	s.mu.Unlock()
	if err := s.save(); err != nil {
		return err
	}
	s.tell(event{Ready: true})
	return nil
}

// finish leaves either nothing or the reason behind, once every process ended.
func (s *supervisor) finish(cause error) error {
	expected := []error{errAsked, errUpEnded, errOwnersGone, errStateGone}
	if slices.ContainsFunc(expected, func(e error) bool { return errors.Is(cause, e) }) {
		s.tell(event{Error: cause.Error()})
		fmt.Fprintf(os.Stderr, "%s the cluster ended: %s\n", time.Now().Format(time.RFC3339), cause)
		return s.dir.clean()
	}
	s.mu.Lock()
	s.state.Phase, s.state.Reason = phaseEnded, cause.Error()
	s.mu.Unlock()
	err := s.save()
	s.tell(event{Error: cause.Error()})
	return errors.Join(cause, err)
}

func (s *supervisor) announce(what string) { s.tell(event{Progress: what}) }

// tell is best effort: up may be gone, which watchUp notices.
func (s *supervisor) tell(e event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_ = s.out.Encode(e)
}

func (s *supervisor) save() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.dir.save(s.state)
}

func (s *supervisor) recordComponents(running map[string]process.Identity) {
	if s.node != nil {
		running[binaries.Node] = s.node.identity
	}
	s.mu.Lock()
	s.state.Components = running
	s.mu.Unlock()
	if err := s.save(); err != nil {
		s.end(err)
	}
}

// watchUp ends the cluster if its up command ends without the keep word.
func (s *supervisor) watchUp(in io.Reader) {
	line, _ := bufio.NewReader(in).ReadString('\n')
	if line != keepWord+"\n" {
		s.end(errUpEnded)
	}
}

// watchPurpose ends a cluster that is no longer wanted or reachable: all of its owners have
// ended, or its state directory was deleted.
func (s *supervisor) watchPurpose(ctx context.Context, lock *process.Lock) {
	tick := time.NewTicker(250 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		s.mu.Lock()
		owners := s.state.Owners
		s.mu.Unlock()
		switch {
		case len(owners) > 0 && !anyAlive(owners):
			s.end(errOwnersGone)
		case lock.Lost(s.dir.supervisorLock()):
			s.end(errStateGone)
		}
	}
}

func anyAlive(ids []process.Identity) bool {
	for _, id := range ids {
		if id.Alive() {
			return true
		}
	}
	return false
}
