package main

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// The node's network: a bridge whose address is the node's, with its Pods on it, and no way
// out. Services have addresses that only kube-proxy's rules know; the node needs a route for
// these rules to apply to its own packets.
const (
	bridge       = "lintel0"
	nodeAddress  = "10.77.0.1/24"
	serviceRange = "10.96.0.0/16"
)

// kept are the folders that are too large for memory, by where they are in the
// cluster's folder.
var kept = map[string]string{
	"kubelet":    "/var/lib/kubelet",
	"containerd": "/var/lib/containerd",
	"pod-logs":   "/var/log/pods",
}

// becomeNode prepares the namespaces of this process, says so in one line, and
// then waits for processes that have lost their parent until it is killed.
func becomeNode(dir string, out io.Writer) error {
	if os.Getpid() != 1 {
		return errors.New("this is not the first process of its namespace, and would change the machine; see cluster up --nodes=real")
	}
	if err := mountAll(dir); err != nil {
		return err
	}
	if err := connect(); err != nil {
		return err
	}
	if _, err := fmt.Fprintln(out, "ready"); err != nil {
		return fmt.Errorf("saying that the node is ready: %w", err)
	}
	return reap()
}

// mountAll makes mounts of Pods visible to all processes on the node and to no others, and
// hides the folders that programs write to regardless of their configuration.
func mountAll(dir string) error {
	steps := []struct {
		source, target, kind string
		flags                uintptr
		data                 string
	}{
		{"", "/", "", unix.MS_REC | unix.MS_PRIVATE, ""},
		{"", "/", "", unix.MS_REC | unix.MS_SHARED, ""},
		{"proc", "/proc", "proc", unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC, ""},
		{"tmpfs", "/run", "tmpfs", unix.MS_NOSUID | unix.MS_NODEV, "mode=755"},
	}
	for _, s := range steps {
		if err := mount(s.source, s.target, s.kind, s.flags, s.data); err != nil {
			return err
		}
	}
	// Opened before anything covers them: the cluster's folder may be in /var/lib.
	folders := map[string]int{}
	for name := range kept {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(path, 0o755); err != nil {
			return fmt.Errorf("creating a folder: %w", err)
		}
		folder, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
		if err != nil {
			return fmt.Errorf("opening %s: %w", path, err)
		}
		defer func() { _ = unix.Close(folder) }()
		folders[name] = folder
	}
	for _, target := range []string{"/var/lib", "/var/log"} {
		if err := overlay(target); err != nil {
			return err
		}
	}
	for name, target := range kept {
		if err := os.MkdirAll(target, 0o755); err != nil {
			return fmt.Errorf("creating a folder: %w", err)
		}
		if err := mount(fmt.Sprintf("/proc/self/fd/%d", folders[name]), target, "", unix.MS_BIND, ""); err != nil {
			return err
		}
	}
	return pretendTunables()
}

func mount(source, target, kind string, flags uintptr, data string) error {
	if err := unix.Mount(source, target, kind, flags, data); err != nil {
		return fmt.Errorf("mounting %s: %w", target, err)
	}
	return nil
}

// overlay keeps writes below target in memory.
func overlay(target string) error {
	aside := filepath.Join("/run/aside", target)
	upper, work := filepath.Join(aside, "upper"), filepath.Join(aside, "work")
	for _, dir := range []string{upper, work} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return fmt.Errorf("creating a folder: %w", err)
		}
	}
	return mount("overlay", target, "overlay", 0, "lowerdir="+target+",upperdir="+upper+",workdir="+work)
}

// pretendTunables shows the kubelet the kernel parameters that it insists on. It
// would set them, and they are those of the whole machine.
func pretendTunables() error {
	for name, value := range map[string]string{
		"vm/overcommit_memory": "1", "vm/panic_on_oom": "0", "kernel/panic": "10", "kernel/panic_on_oops": "1",
		"kernel/keys/root_maxkeys": "1000000", "kernel/keys/root_maxbytes": "25000000",
	} {
		path := filepath.Join("/run/aside", strings.ReplaceAll(name, "/", "."))
		if err := os.WriteFile(path, []byte(value+"\n"), 0o644); err != nil {
			return fmt.Errorf("writing a kernel parameter: %w", err)
		}
		if err := mount(path, "/proc/sys/"+name, "", unix.MS_BIND, ""); err != nil {
			return err
		}
	}
	return nil
}

// connect sets up the network of the node.
func connect() error {
	loopback, err := netlink.LinkByName("lo")
	if err != nil {
		return fmt.Errorf("finding the loopback interface: %w", err)
	}
	attributes := netlink.NewLinkAttrs()
	attributes.Name = bridge
	// Left alone, a bridge takes another hardware address with each Pod, and the
	// Pods before it lose their way.
	attributes.HardwareAddr = net.HardwareAddr{0x0a, 0x58, 10, 77, 0, 1}
	node := &netlink.Bridge{LinkAttrs: attributes}
	if err := netlink.LinkAdd(node); err != nil {
		return fmt.Errorf("creating the bridge %s: %w", bridge, err)
	}
	address, err := netlink.ParseAddr(nodeAddress)
	if err != nil {
		return fmt.Errorf("parsing the node's address: %w", err)
	}
	if err := netlink.AddrAdd(node, address); err != nil {
		return fmt.Errorf("giving the node its address: %w", err)
	}
	for _, link := range []netlink.Link{loopback, node} {
		if err := netlink.LinkSetUp(link); err != nil {
			return fmt.Errorf("starting the interface %s: %w", link.Attrs().Name, err)
		}
	}
	_, services, err := net.ParseCIDR(serviceRange)
	if err != nil {
		return fmt.Errorf("parsing the addresses of Services: %w", err)
	}
	if err := netlink.RouteAdd(&netlink.Route{LinkIndex: node.Index, Dst: services, Scope: netlink.SCOPE_LINK}); err != nil {
		return fmt.Errorf("adding the route to Services: %w", err)
	}
	// Packets between Pods pass the rules of kube-proxy, on the bridge too.
	for _, name := range []string{"ipv4/ip_forward", "bridge/bridge-nf-call-iptables"} {
		if err := os.WriteFile("/proc/sys/net/"+name, []byte("1"), 0); err != nil {
			return fmt.Errorf("setting net/%s: %w", name, err)
		}
	}
	return nil
}

// reap waits for the processes that their parents left, until this one is killed.
func reap() error {
	child := make(chan os.Signal, 1)
	signal.Notify(child, syscall.SIGCHLD)
	for range child {
		for pid := 1; pid > 0; {
			pid, _ = syscall.Wait4(-1, nil, syscall.WNOHANG, nil)
		}
	}
	return nil
}
