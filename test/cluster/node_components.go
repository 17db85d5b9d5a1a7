package main

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"text/template"

	"github.com/lintel-policy/lintel/test/cluster/internal/binaries"
)

// nodeIP is the address of the node in its own network, which every cluster with
// real nodes has for itself; so are all ports there that are not chosen.
const nodeIP = "10.77.0.1"

// nodeFolder is where the node keeps its data, in the state directory.
const nodeFolder = "node"

// nodePrograms are what kwok takes the place of.
var nodePrograms = []string{
	binaries.Kubelet, binaries.KubeProxy,
	binaries.Containerd, binaries.Shim, binaries.Ctr,
	binaries.Bridge, binaries.Loopback, binaries.HostLocal, binaries.PortMap,
	binaries.CoreDNS, binaries.Node, binaries.Pause,
}

// real holds the configuration of the node's programs, as templates, and the
// manifests of the Pods that every cluster with real nodes has.
//
//go:embed real
var real embed.FS

// checkRealNodes says what this machine lacks for Pods that run.
func checkRealNodes() error {
	// Where Debian puts programs for root is not in everybody's PATH.
	if err := os.Setenv("PATH", os.Getenv("PATH")+":/usr/sbin:/sbin"); err != nil {
		return fmt.Errorf("extending PATH: %w", err)
	}
	if err := missingForRealNodes(runtime.GOOS, os.Geteuid(), exec.LookPath); err != nil {
		return err
	}
	if _, err := os.Stat("/proc/sys/net/bridge"); errors.Is(err, fs.ErrNotExist) {
		return errors.New("--nodes=real needs the kernel module br_netfilter; load it with: modprobe br_netfilter")
	}
	return nil
}

// missingForRealNodes never leads to kwok instead: what needs Pods that run would
// pass there without having been tried.
func missingForRealNodes(system string, user int, look func(string) (string, error)) error {
	if system != "linux" {
		return errors.New("--nodes=real needs Linux, whose namespaces the Pods run in; leave it out for kwok")
	}
	if user != 0 {
		return errors.New("--nodes=real needs root, to make namespaces, mounts and control groups; run it as root, or leave it out for kwok")
	}
	var missing, packages []string
	for _, need := range []struct{ program, debian string }{{"runc", "runc"}, {"nft", "nftables"}} {
		if _, err := look(need.program); err != nil {
			missing, packages = append(missing, need.program), append(packages, need.debian)
		}
	}
	if len(missing) > 0 {
		return fmt.Errorf("--nodes=real needs %s, not found in PATH; install with: apt-get install %s",
			strings.Join(missing, " and "), strings.Join(packages, " "))
	}
	return nil
}

// writeNodeConfiguration writes what the node's programs read when they start.
func writeNodeConfiguration(dir stateDir, s *state) error {
	runc, err := exec.LookPath("runc")
	if err != nil {
		return fmt.Errorf("finding runc: %w", err)
	}
	if err := os.MkdirAll(dir.path(nodeFolder, "cni"), 0o700); err != nil {
		return fmt.Errorf("creating the node's folder: %w", err)
	}
	values := map[string]string{
		"State": string(dir), "Dir": dir.path(nodeFolder), "Cgroup": s.Cgroup, "Runc": runc,
		"Plugins": filepath.Dir(s.Binaries[binaries.Bridge]),
	}
	for file, path := range map[string]string{
		"containerd.toml":  "containerd.toml",
		"network.conflist": filepath.Join("cni", "10-lintel.conflist"),
		"kubelet.yaml":     "kubelet.yaml",
		"kube-proxy.yaml":  "kube-proxy.yaml",
	} {
		t, err := template.New(file).Option("missingkey=error").ParseFS(real, "real/"+file)
		if err != nil {
			return fmt.Errorf("reading the template of %s: %w", file, err)
		}
		var content bytes.Buffer
		if err := t.Execute(&content, values); err != nil {
			return fmt.Errorf("writing %s: %w", file, err)
		}
		if err := writePrivate(dir.path(nodeFolder, path), content.Bytes()); err != nil {
			return err
		}
	}
	return nil
}

// apiServerOnNode are the flags of an API server that Pods reach, and that reaches
// the kubelet.
func apiServerOnNode(dir stateDir) []string {
	return []string{
		"--bind-address=0.0.0.0",
		"--advertise-address=" + nodeIP,
		"--enable-admission-plugins=NodeRestriction",
		"--kubelet-certificate-authority=" + dir.path("pki", "ca.crt"),
		"--kubelet-client-certificate=" + dir.path("pki", "apiserver-kubelet-client.crt"),
		"--kubelet-client-key=" + dir.path("pki", "apiserver-kubelet-client.key"),
		"--kubelet-preferred-address-types=InternalIP",
	}
}

// runtimeComponents need no API server.
func runtimeComponents(dir stateDir, p ports) []component {
	return []component{
		{
			name:   binaries.Containerd,
			args:   []string{"--config=" + dir.path(nodeFolder, "containerd.toml")},
			health: "http://127.0.0.1:1338/v1/metrics",
		},
		{
			name:    "registry",
			program: binaries.Node,
			args:    []string{"registry", "--address=" + loopback(p.Registry), "--dir=" + dir.path(nodeFolder, "registry")},
			health:  "http://" + loopback(p.Registry) + "/v2/",
		},
	}
}

func nodeComponents(dir stateDir) []component {
	return []component{
		{
			name: binaries.Kubelet,
			args: []string{
				"--config=" + dir.path(nodeFolder, "kubelet.yaml"),
				"--kubeconfig=" + dir.path("pki", kubelet.file),
				"--hostname-override=" + nodeName,
				"--node-ip=" + nodeIP,
				"--root-dir=/var/lib/kubelet",
			},
			health: "http://127.0.0.1:10248/healthz",
			needs:  append([]string{binaries.Containerd}, clientNeeds...),
		},
		{
			name:   binaries.KubeProxy,
			args:   []string{"--config=" + dir.path(nodeFolder, "kube-proxy.yaml")},
			health: "http://127.0.0.1:10256/livez",
			needs:  clientNeeds,
		},
	}
}
