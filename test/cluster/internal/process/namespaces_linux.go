package process

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// Isolate configures cmd as the first process of new network, mount and process namespaces. All
// other processes in them end with it.
func Isolate(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: unix.CLONE_NEWNET | unix.CLONE_NEWNS | unix.CLONE_NEWPID,
	}
}

// Namespaces are the network, mount and process namespaces of another process.
type Namespaces struct{ net, mnt, pid *os.File }

// OpenNamespaces opens the namespaces of exactly this process.
func (i Identity) OpenNamespaces() (*Namespaces, error) {
	var n Namespaces
	for name, file := range map[string]**os.File{"net": &n.net, "mnt": &n.mnt, "pid": &n.pid} {
		var err error
		if *file, err = os.Open("/proc/" + strconv.Itoa(i.PID) + "/ns/" + name); err != nil {
			n.Close()
			return nil, fmt.Errorf("opening the namespaces of process %d: %w", i.PID, err)
		}
	}
	// Its id could have been another's by the time it was opened.
	if !i.Alive() {
		n.Close()
		return nil, fmt.Errorf("opening the namespaces of process %d: it has ended", i.PID)
	}
	return &n, nil
}

// Close releases the namespaces; launchers keep those that they have entered.
func (n *Namespaces) Close() {
	for _, file := range []*os.File{n.net, n.mnt, n.pid} {
		if file != nil {
			_ = file.Close()
		}
	}
}

// Launcher starts programs inside. They end with the first process there.
func (n *Namespaces) Launcher() (*Launcher, error) {
	launcher, err := newLauncher(func() error {
		// A thread that shares its root with others cannot change its mounts.
		if err := unix.Unshare(unix.CLONE_FS); err != nil {
			return fmt.Errorf("leaving the namespaces of this process: %w", err)
		}
		for file, kind := range map[*os.File]int{n.net: unix.CLONE_NEWNET, n.mnt: unix.CLONE_NEWNS, n.pid: unix.CLONE_NEWPID} {
			if err := unix.Setns(int(file.Fd()), kind); err != nil {
				return fmt.Errorf("entering a namespace: %w", err)
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	// A parent-death signal cannot be asked for there: Go takes a parent in another
	// process namespace for a dead one.
	launcher.inside = true
	return launcher, nil
}

// Dial connects to an address, not a name, as a program inside would.
func (n *Namespaces) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	type result struct {
		conn net.Conn
		err  error
	}
	done := make(chan result, 1)
	go func() {
		// The socket belongs to the network of the thread that makes it. The
		// thread ends with this function, because it is never unlocked.
		runtime.LockOSThread()
		if err := unix.Setns(int(n.net.Fd()), unix.CLONE_NEWNET); err != nil {
			done <- result{err: fmt.Errorf("entering a network namespace: %w", err)}
			return
		}
		conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
		done <- result{conn, err}
	}()
	r := <-done
	return r.conn, r.err
}
