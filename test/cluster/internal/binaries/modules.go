// Package binaries provides the programs of the cluster: found where the user
// says, downloaded into the cache, or built from Go modules into it.
//
// The invariant: a file in the cache is complete. Everything is written under
// another name and renamed, under a lock that other checkouts share.
package binaries

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
)

// KubernetesVersion is what the programs report; go.mod requires the same.
const KubernetesVersion = "v1.36.3"

// Names of the programs, as used in logs, JSON output and KUBEBUILDER_ASSETS.
const (
	Etcd              = "etcd"
	APIServer         = "kube-apiserver"
	ControllerManager = "kube-controller-manager"
	Scheduler         = "kube-scheduler"
	Kubectl           = "kubectl"
	Kwok              = "kwok"
	CertManager       = "cert-manager"
)

// Names of the programs of real nodes. What the container runtime starts has to be
// called as it is here.
const (
	Kubelet    = "kubelet"
	KubeProxy  = "kube-proxy"
	Containerd = "containerd"
	Shim       = "containerd-shim-runc-v2"
	Ctr        = "ctr"
	Bridge     = "bridge"
	Loopback   = "loopback"
	HostLocal  = "host-local"
	PortMap    = "portmap"
	CoreDNS    = "coredns"
	Node       = "node"
	Pause      = "pause"
)

// Names of the programs that Lintel is measured against, by test/bench alone.
const (
	Gatekeeper = "gatekeeper"
	Gator      = "gator"
	Kyverno    = "kyverno"
	KyvernoCLI = "kyverno-cli"
)

// Names of Lintel's own programs.
const (
	Manager = "manager"
	Lintel  = "lintel"
)

// Names of the folders of manifests that are copied out of a module.
const (
	KwokStages      = "kwok-stages"
	CertManagerCRDs = "cert-manager-crds"
	GatekeeperCRDs  = "gatekeeper-crds"
	KyvernoInstall  = "kyverno-install"
)

const (
	versionPackage = "k8s.io/component-base/version"
	plainLinking   = "-s -w"
	// Without these the API server reports v0.0.0 and clients take it for old.
	kubernetesLinking = plainLinking +
		" -X " + versionPackage + ".gitVersion=" + KubernetesVersion +
		" -X " + versionPackage + ".gitMajor=1" +
		" -X " + versionPackage + ".gitMinor=36"
)

// module is one Go module whose programs are built together: they share one
// set of dependency versions and one cache key.
type module struct {
	name     string // first part of the cache folder's name
	dir      string // relative to test/cluster
	tags     string // build tags
	programs []program
	copies   []folder
	sources  bool // its own Go files are part of the build
	// checkout says that the programs are built from many sources of this checkout. They are
	// stored there and not in the cache, and built again each time: Go knows what changed.
	checkout bool
}

type program struct {
	name, pkg, ldflags string
}

// folder is a set of manifests inside a required module.
type folder struct {
	name, module string
	globs        []string
}

var allModules = []module{
	{
		name: "kubernetes", dir: ".",
		programs: []program{
			{Etcd, "go.etcd.io/etcd/server/v3", plainLinking},
			{APIServer, "k8s.io/kubernetes/cmd/kube-apiserver", kubernetesLinking},
			{ControllerManager, "k8s.io/kubernetes/cmd/kube-controller-manager", kubernetesLinking},
			{Scheduler, "k8s.io/kubernetes/cmd/kube-scheduler", kubernetesLinking},
			{Kubectl, "k8s.io/kubernetes/cmd/kubectl", kubernetesLinking},
			{Kubelet, "k8s.io/kubernetes/cmd/kubelet", kubernetesLinking},
			{KubeProxy, "k8s.io/kubernetes/cmd/kube-proxy", kubernetesLinking},
		},
	},
	{
		name: "containerd", dir: "containerd", tags: "no_btrfs,no_devmapper,no_zfs",
		programs: []program{
			{Containerd, "github.com/containerd/containerd/v2/cmd/containerd", plainLinking},
			{Shim, "github.com/containerd/containerd/v2/cmd/containerd-shim-runc-v2", plainLinking},
			{Ctr, "github.com/containerd/containerd/v2/cmd/ctr", plainLinking},
			{Bridge, "github.com/containernetworking/plugins/plugins/main/bridge", plainLinking},
			{Loopback, "github.com/containernetworking/plugins/plugins/main/loopback", plainLinking},
			{HostLocal, "github.com/containernetworking/plugins/plugins/ipam/host-local", plainLinking},
			{PortMap, "github.com/containernetworking/plugins/plugins/meta/portmap", plainLinking},
		},
	},
	{
		name: "coredns", dir: "coredns", sources: true,
		programs: []program{{CoreDNS, ".", plainLinking}},
	},
	{
		name: "node", dir: "node", sources: true,
		programs: []program{{Node, ".", plainLinking}, {Pause, "./pause", plainLinking}},
	},
	{
		name: "kwok", dir: "kwok",
		programs: []program{{Kwok, "sigs.k8s.io/kwok/cmd/kwok", plainLinking}},
		copies: []folder{{KwokStages, "sigs.k8s.io/kwok", []string{
			"kustomize/stage/node/fast/node-*.yaml",
			"kustomize/stage/node/heartbeat-with-lease/node-*.yaml",
			"kustomize/stage/pod/fast/pod-*.yaml",
		}}},
	},
	{
		name: "cert-manager", dir: "certmanager", sources: true,
		programs: []program{{CertManager, ".", plainLinking}},
		copies: []folder{{CertManagerCRDs, "github.com/cert-manager/cert-manager", []string{
			"deploy/crds/*.yaml",
		}}},
	},
	{
		name: "lintel", dir: "../..", checkout: true,
		programs: []program{{Manager, "./cmd/manager", plainLinking}, {Lintel, "./cmd/lintel", plainLinking}},
	},
	{
		name: "gatekeeper", dir: "../bench/peers/gatekeeper",
		programs: []program{
			{Gatekeeper, "github.com/open-policy-agent/gatekeeper/v3", plainLinking},
			{Gator, "github.com/open-policy-agent/gatekeeper/v3/cmd/gator", plainLinking},
		},
		copies: []folder{{GatekeeperCRDs, "github.com/open-policy-agent/gatekeeper/v3", []string{
			"charts/gatekeeper/crds/*.yaml",
		}}},
	},
	{
		name: "kyverno", dir: "../bench/peers/kyverno",
		programs: []program{{Kyverno, "github.com/kyverno/kyverno/cmd/kyverno", plainLinking}},
		copies: []folder{{KyvernoInstall, "github.com/kyverno/kyverno", []string{
			"config/install-latest-testing.yaml",
		}}},
	},
	{
		name: "kyverno-cli", dir: "../kyverno",
		programs: []program{{KyvernoCLI, "github.com/kyverno/kyverno/cmd/cli/kubectl-kyverno", plainLinking}},
	},
}

// cacheName is the name of the module's folder in the cache: a digest over
// everything that decides what comes out of the compiler.
func (m module) cacheName(root, toolchain string) (string, error) {
	dir := filepath.Join(root, m.dir)
	files := []string{filepath.Join(dir, "go.mod"), filepath.Join(dir, "go.sum")}
	if m.sources {
		own, err := filepath.Glob(filepath.Join(dir, "*.go"))
		if err != nil {
			return "", fmt.Errorf("listing sources of %s: %w", m.name, err)
		}
		below, err := filepath.Glob(filepath.Join(dir, "*", "*.go"))
		if err != nil {
			return "", fmt.Errorf("listing sources of %s: %w", m.name, err)
		}
		own = append(own, below...)
		slices.Sort(own)
		files = append(files, own...)
	}
	digest := sha256.New()
	_, _ = fmt.Fprintf(digest, "%s\n%+v\n%+v\n%s", toolchain, m.programs, m.copies, m.tags)
	for _, path := range files {
		if err := addFile(digest, path); err != nil {
			return "", err
		}
	}
	return m.name + "-" + hex.EncodeToString(digest.Sum(nil))[:16], nil
}

func addFile(digest io.Writer, path string) error {
	content, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("reading what the cache key depends on: %w", err)
	}
	_, _ = fmt.Fprintf(digest, "%s %d\n", filepath.Base(path), len(content))
	_, _ = digest.Write(content)
	return nil
}
