package main

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/lintel-policy/lintel/test/installation"
)

// running is Lintel in front of a cluster. As Pods it does not end by itself: the cluster
// starts them again.
type running struct {
	// process is nil where Lintel runs as Pods.
	process *installation.Manager
	// log is a file, or the command that shows it.
	log string
}

// Ended implements program.
func (r running) Ended() <-chan struct{} {
	if r.process == nil {
		return nil
	}
	return r.process.Ended()
}

// Failure implements program.
func (r running) Failure() error { return r.process.Failure() }

// stop ends the process; Pods end with the cluster.
func (r running) stop() {
	if r.process != nil {
		r.process.Stop()
	}
}

// besideTheCluster runs the manager as a process, for a cluster whose Pods only seem to run.
func besideTheCluster(ctx context.Context, r request, s *site) (running, error) {
	if err := installation.Install(ctx, s.Cluster); err != nil {
		return running{}, err
	}
	if !r.everything && !r.current {
		if err := permitData(ctx, s); err != nil {
			return running{}, err
		}
	}
	var args []string
	if r.openclaw {
		if err := installation.PermitOpenClaw(ctx, s.Cluster); err != nil {
			return running{}, err
		}
		args = append(args, "--systems=openclaw")
	}
	if r.gatekeeper {
		if err := installation.PermitGatekeeper(ctx, s.Cluster); err != nil {
			return running{}, err
		}
		args = append(args, "--gatekeeper")
	}
	args = append(args, r.flags...)
	manager, err := installation.StartManager(ctx, s.Cluster, installation.ManagerOptions{
		Program: s.Binaries.Manager, Name: "lintel-manager-0", Args: args,
	})
	if err != nil {
		return running{}, err
	}
	return running{process: manager, log: manager.Log}, nil
}

// permitData gives the manager what the samples read. Elsewhere kube-controller-manager
// does that, which adds the rules of labelled ClusterRoles to lintel-policy-data.
func permitData(ctx context.Context, s *site) error {
	const role = "lintel-policy-data-ingresses"
	output, err := s.Kubectl(ctx, "", "create", "clusterrolebinding", role,
		"--clusterrole="+role, "--serviceaccount="+installation.Namespace+":lintel-manager")
	if err != nil {
		return fmt.Errorf("binding %s: %w: %s", role, err, output)
	}
	return nil
}

// inPods installs the chart.
func inPods(ctx context.Context, r request, s *site) (running, error) {
	var values []string
	if r.openclaw {
		values = append(values, "systems.openclaw.enabled=true")
	}
	if r.gatekeeper {
		values = append(values, "gatekeeper.enabled=true", "gatekeeper.crds=true")
	}
	for _, flag := range r.flags {
		values = append(values, flagValue(flag))
	}
	return running{log: "kubectl -n " + installation.Namespace + " logs deployment/lintel-manager"},
		installation.InstallChart(ctx, s.Cluster, untilDone{ctx, os.Stderr}, values...)
}

// flagValue is a flag of the manager as a value of the chart.
func flagValue(flag string) string {
	name, value, given := strings.Cut(strings.TrimPrefix(flag, "--"), "=")
	if !given {
		value = "true"
	}
	return "flags." + name + "=" + strings.NewReplacer(`\`, `\\`, ",", `\,`).Replace(value)
}
