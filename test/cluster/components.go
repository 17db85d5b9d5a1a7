package main

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/lintel-policy/lintel/test/cluster/internal/binaries"
)

// component is one process of the cluster.
type component struct {
	name string
	// program is what runs, if it is called otherwise.
	program string
	args    []string
	// health answers 200 once the component does its work.
	health string
	// needs must run before this one starts.
	needs []string
}

// optional are the components that a cluster can be started without.
var optional = []string{binaries.ControllerManager, binaries.Scheduler, binaries.Kwok, binaries.CertManager}

// checkWithout returns why parts cannot be left out.
func checkWithout(parts []string, nodes string) error {
	for _, part := range parts {
		if !slices.Contains(optional, part) {
			return fmt.Errorf("%q cannot be left out, only %s can", part, strings.Join(optional, ", "))
		}
		if nodes == realNodes && part != binaries.CertManager {
			return fmt.Errorf("--nodes=real needs %s", part)
		}
	}
	if !slices.Contains(parts, binaries.ControllerManager) {
		return nil
	}
	for _, part := range []string{binaries.Scheduler, binaries.Kwok} {
		if !slices.Contains(parts, part) {
			return fmt.Errorf("%s needs %s: leave it out, too", part, binaries.ControllerManager)
		}
	}
	return nil
}

// clientNeeds is what a client of the API server cannot work without.
var clientNeeds = []string{binaries.Etcd, binaries.APIServer}

// listComponents returns what runs, in the order in which it starts. stages are
// the files that tell kwok how Nodes and Pods behave.
func listComponents(dir stateDir, s *state, stages []string) []component {
	list := []component{
		etcdComponent(dir, s.Ports),
		apiServerComponent(dir, s),
		controllerManagerComponent(dir, s.Ports),
		schedulerComponent(dir, s.Ports),
	}
	if s.Nodes == realNodes {
		// cert-manager is a Pod there.
		return slices.Concat(runtimeComponents(dir, s.Ports), list, nodeComponents(dir))
	}
	list = append(list, kwokComponent(dir, s.Ports, stages), certManagerComponent(dir, s.Ports))
	return slices.DeleteFunc(list, func(c component) bool { return !s.has(c.name) })
}

func etcdComponent(dir stateDir, p ports) component {
	client, peer := "http://"+loopback(p.Etcd), "http://"+loopback(p.EtcdPeer)
	return component{
		name: binaries.Etcd,
		args: []string{
			"--name=lintel",
			"--data-dir=" + dir.path("etcd"),
			"--listen-client-urls=" + client,
			"--advertise-client-urls=" + client,
			"--listen-peer-urls=" + peer,
			"--initial-advertise-peer-urls=" + peer,
			"--initial-cluster=lintel=" + peer,
			// The data is worth nothing after a power failure.
			"--unsafe-no-fsync",
		},
		// etcd 3.4 has no /readyz.
		health: client + "/health",
	}
}

func apiServerComponent(dir stateDir, s *state) component {
	p := s.Ports
	// A loopback address is refused as the one to advertise and the default needs a
	// network interface; nothing ever connects to this documentation address.
	reach := []string{"--bind-address=127.0.0.1", "--advertise-address=192.0.2.1"}
	if s.Nodes == realNodes {
		reach = apiServerOnNode(dir)
	}
	if !s.has(binaries.ControllerManager) {
		// Pods would be refused: that one creates the ServiceAccounts they need.
		reach = append(reach, "--disable-admission-plugins=ServiceAccount")
	}
	return component{
		name: binaries.APIServer,
		args: append(reach,
			"--etcd-servers=http://"+loopback(p.Etcd),
			"--secure-port="+strconv.Itoa(p.APIServer),
			"--cert-dir="+dir.path("pki"),
			"--tls-cert-file="+dir.path("pki", "apiserver.crt"),
			"--tls-private-key-file="+dir.path("pki", "apiserver.key"),
			"--client-ca-file="+dir.path("pki", "ca.crt"),
			"--token-auth-file="+dir.path("pki", "tokens.csv"),
			"--service-account-issuer=https://kubernetes.default.svc",
			"--service-account-key-file="+dir.path("pki", "service-account.key"),
			"--service-account-signing-key-file="+dir.path("pki", "service-account.key"),
			"--service-cluster-ip-range="+serviceRange,
			"--authorization-mode=Node,RBAC",
			"--allow-privileged",
		),
		health: p.server() + "/readyz",
		needs:  []string{binaries.Etcd},
	}
}

func controllerManagerComponent(dir stateDir, p ports) component {
	return component{
		name: binaries.ControllerManager,
		args: []string{
			"--kubeconfig=" + dir.path("pki", controllerManager.file),
			"--bind-address=127.0.0.1",
			"--secure-port=" + strconv.Itoa(p.ControllerManager),
			"--leader-elect=false",
			"--service-account-private-key-file=" + dir.path("pki", "service-account.key"),
			"--use-service-account-credentials",
			"--root-ca-file=" + dir.path("pki", "ca.crt"),
			"--cluster-signing-cert-file=" + dir.path("pki", "ca.crt"),
			"--cluster-signing-key-file=" + dir.path("pki", "ca.key"),
			"--kube-api-qps=200", "--kube-api-burst=400",
		},
		health: "https://" + loopback(p.ControllerManager) + "/healthz",
		needs:  clientNeeds,
	}
}

func schedulerComponent(dir stateDir, p ports) component {
	return component{
		name: binaries.Scheduler,
		args: []string{
			"--kubeconfig=" + dir.path("pki", scheduler.file),
			"--bind-address=127.0.0.1",
			"--secure-port=" + strconv.Itoa(p.Scheduler),
			"--leader-elect=false",
			"--kube-api-qps=200", "--kube-api-burst=400",
		},
		health: "https://" + loopback(p.Scheduler) + "/healthz",
		needs:  clientNeeds,
	}
}

func kwokComponent(dir stateDir, p ports, stages []string) component {
	args := []string{
		"--kubeconfig=" + dir.path("pki", kwok.file),
		"--manage-all-nodes=true",
		"--node-lease-duration-seconds=40",
		"--server-address=" + loopback(p.Kwok),
	}
	for _, stage := range stages {
		args = append(args, "--config="+stage)
	}
	return component{
		name:   binaries.Kwok,
		args:   args,
		health: "http://" + loopback(p.Kwok) + "/readyz",
		needs:  clientNeeds,
	}
}

func certManagerComponent(dir stateDir, p ports) component {
	return component{
		name: binaries.CertManager,
		args: []string{
			"--kubeconfig=" + dir.path("pki", certManager.file),
			"--health-address=" + loopback(p.CertManager),
		},
		health: "http://" + loopback(p.CertManager) + "/readyz",
		needs:  clientNeeds,
	}
}

// stageFiles lists kwok's stages, in a fixed order.
func stageFiles(dir string) ([]string, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.yaml"))
	if err != nil || len(files) == 0 {
		return nil, fmt.Errorf("no kwok stages in %s; delete that folder's parent to have it rebuilt", dir)
	}
	slices.Sort(files)
	return files, nil
}

// choose returns the named components in start order; no names mean all.
func choose(all []component, names []string) ([]component, error) {
	if len(names) == 0 {
		return all, nil
	}
	var known []string
	for _, c := range all {
		known = append(known, c.name)
	}
	for _, name := range names {
		if !slices.Contains(known, name) {
			return nil, fmt.Errorf("no component %q; this cluster has %v", name, known)
		}
	}
	return slices.DeleteFunc(slices.Clone(all), func(c component) bool {
		return !slices.Contains(names, c.name)
	}), nil
}

// chooseOptional is choose for an order that may be missing.
func chooseOptional(all []component, names *[]string) ([]component, error) {
	if names == nil {
		return nil, nil
	}
	return choose(all, *names)
}

func contains(list []component, name string) bool {
	return slices.ContainsFunc(list, func(c component) bool { return c.name == name })
}

// disconnected returns what kept running while something it needs was stopped
// that starts now. In a real cluster such a component loses its lease and
// restarts; left alone, its informers back off for more than a minute.
func disconnected(all, starting []component, runs func(string) bool) []component {
	return slices.DeleteFunc(slices.Clone(all), func(c component) bool {
		missed := slices.ContainsFunc(starting, func(s component) bool {
			return !runs(s.name) && slices.Contains(c.needs, s.name)
		})
		return !missed || !runs(c.name)
	})
}

// inOrder returns the given components in the order of all, each once.
func inOrder(all, list []component) []component {
	return slices.DeleteFunc(slices.Clone(all), func(c component) bool {
		return !contains(list, c.name)
	})
}
