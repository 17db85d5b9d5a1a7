package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"

	"github.com/lintel-policy/lintel/test/cluster/internal/binaries"
	"github.com/lintel-policy/lintel/test/cluster/internal/process"
)

// node is the environment of a cluster with real nodes: the namespaces of one process, with
// which everything in them ends. Forwarders on loopback lead into it, on the same ports outside
// and inside, so that one kubeconfig serves both. The sweeper removes the remaining resources,
// also when the supervisor is killed.
type node struct {
	first      *exec.Cmd
	identity   process.Identity
	namespaces *process.Namespaces
	ended      chan struct{}
	forwarders []net.Listener
	sweeper    *exec.Cmd
	hold       io.Closer // the sweeper's sign that the supervisor lives
}

// startNode starts the node; what the fleet starts from now on is in it.
func (s *supervisor) startNode(ctx context.Context) error {
	s.node = &node{}
	doors := doorPorts(s.state.Ports)
	for i := range doors {
		syscall.CloseOnExec(firstDoor + i) // they were inherited, and go no further
	}
	if err := s.node.guard(s.state.Cgroup); err != nil {
		return err
	}
	if err := makeControlGroupTree(s.state.Cgroup); err != nil {
		return err
	}
	if err := s.node.start(ctx, s.fleet, s.end); err != nil {
		return s.fleet.failure(binaries.Node, "did not start", err)
	}
	launcher, err := s.node.namespaces.Launcher()
	if err != nil {
		return err
	}
	s.fleet.launcher, s.fleet.prober = launcher, newProber(s.node.namespaces.Dial)
	for i, port := range doors {
		if err := s.node.forward(firstDoor+i, port); err != nil {
			return err
		}
	}
	return nil
}

// firstDoor is the first descriptor after standard error: up passes the doors on.
const firstDoor = 3

// doorPorts are the ports by which a node is reached from outside.
func doorPorts(p ports) []int { return []int{p.APIServer, p.Registry} }

// openDoors listens for the supervisor, so that no other program takes a port before it starts.
func openDoors(p ports) ([]*os.File, error) {
	var doors []*os.File
	for _, port := range doorPorts(p) {
		listener, err := net.Listen("tcp", loopback(port))
		if err != nil {
			return nil, portError(port, err)
		}
		door, err := listener.(*net.TCPListener).File()
		_ = listener.Close() // the file is a copy
		if err != nil {
			return nil, fmt.Errorf("keeping port %d: %w", port, err)
		}
		doors = append(doors, door)
	}
	return doors, nil
}

// guard starts the sweeper, in a session of its own and not to die with this
// process.
func (n *node) guard(cgroup string) error {
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("finding this program: %w", err)
	}
	sweeper := exec.Command(self, "sweep", cgroup)
	sweeper.Dir, sweeper.Stderr = "/", os.Stderr
	sweeper.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	hold, err := sweeper.StdinPipe()
	if err != nil {
		return fmt.Errorf("connecting to the sweeper: %w", err)
	}
	if err := sweeper.Start(); err != nil {
		return fmt.Errorf("starting the sweeper: %w", err)
	}
	n.sweeper, n.hold = sweeper, hold
	return nil
}

// start starts the first process and waits until it has prepared its namespaces.
func (n *node) start(ctx context.Context, f *fleet, died func(error)) error {
	log, err := os.OpenFile(f.dir.log(binaries.Node), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("opening the log of the node: %w", err)
	}
	defer func() { _ = log.Close() }()
	cmd := exec.Command(f.paths[binaries.Node], "init", f.dir.path(nodeFolder))
	cmd.Dir, cmd.Stderr = "/", log
	process.Isolate(cmd)
	out, err := cmd.StdoutPipe()
	if err != nil {
		return fmt.Errorf("connecting to it: %w", err)
	}
	if err := process.Here().Start(cmd); err != nil {
		return err
	}
	n.first, n.ended = cmd, make(chan struct{})
	stop := context.AfterFunc(ctx, func() { _ = cmd.Process.Kill() })
	defer stop()
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		close(n.ended)
		return errors.Join(cmd.Wait(), context.Cause(ctx))
	}
	go func() {
		err := cmd.Wait()
		died(f.failure(binaries.Node, "ended by itself", err))
		close(n.ended)
	}()
	if strings.TrimSpace(line) != "ready" {
		return fmt.Errorf("it said %q", line)
	}
	if n.identity, err = process.IdentityOf(cmd.Process.Pid); err != nil {
		return err
	}
	n.namespaces, err = n.identity.OpenNamespaces()
	return err
}

// forward leads from a door, a port of this machine's loopback, to the same of the
// node's.
func (n *node) forward(door, port int) error {
	file := os.NewFile(uintptr(door), "door")
	listener, err := net.FileListener(file)
	_ = file.Close() // the listener has a copy
	if err != nil {
		return fmt.Errorf("listening for the node: %w", err)
	}
	n.forwarders = append(n.forwarders, listener)
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go n.relay(conn, loopback(port))
		}
	}()
	return nil
}

// relay copies both ways until both sides are done.
func (n *node) relay(outside net.Conn, address string) {
	defer func() { _ = outside.Close() }()
	inside, err := n.namespaces.Dial(context.Background(), "tcp", address)
	if err != nil {
		return
	}
	defer func() { _ = inside.Close() }()
	done := make(chan struct{})
	go func() {
		defer close(done)
		copyHalf(inside, outside)
	}()
	copyHalf(outside, inside)
	<-done
}

func copyHalf(to, from net.Conn) {
	_, _ = io.Copy(to, from)
	_ = to.(*net.TCPConn).CloseWrite()
}

// end ends what start and the others began, and returns once it is gone.
func (n *node) end() {
	for _, listener := range n.forwarders {
		_ = listener.Close()
	}
	if n.first != nil {
		_ = n.first.Process.Kill()
		<-n.ended
	}
	if n.namespaces != nil {
		n.namespaces.Close()
	}
	if n.sweeper != nil {
		_ = n.hold.Close()
		_ = n.sweeper.Wait()
	}
}
