package main

import (
	"context"
	"os"
	"path/filepath"

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
func besideTheCluster(ctx context.Context, cluster *installation.Cluster, programs string, openclaw bool) (running, error) {
	if err := installation.Install(ctx, cluster); err != nil {
		return running{}, err
	}
	var args []string
	if openclaw {
		if err := installation.PermitOpenClaw(ctx, cluster); err != nil {
			return running{}, err
		}
		args = []string{"--systems=openclaw"}
	}
	manager, err := installation.StartManager(ctx, cluster, installation.ManagerOptions{
		Program: filepath.Join(programs, "manager"), Name: "lintel-manager-0", Args: args,
	})
	if err != nil {
		return running{}, err
	}
	return running{process: manager, log: manager.Log}, nil
}

// inPods installs the chart.
func inPods(ctx context.Context, cluster *installation.Cluster, _ string, openclaw bool) (running, error) {
	var values []string
	if openclaw {
		values = append(values, "systems.openclaw.enabled=true")
	}
	return running{log: "kubectl -n " + installation.Namespace + " logs deployment/lintel-manager"},
		installation.InstallChart(ctx, cluster, untilDone{ctx, os.Stderr}, values...)
}
