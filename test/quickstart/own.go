package main

import (
	"context"
	"fmt"

	"github.com/lintel-policy/lintel/test/installation"
)

// leftOut are the components that the transcript does not need. They would take minutes
// to build.
const leftOut = "kube-controller-manager,kube-scheduler,kwok"

// startOwn starts a control plane for this run.
func startOwn(ctx context.Context, r request, stateDir string) (*site, error) {
	say("starting a control plane …")
	cluster, err := installation.StartCluster(ctx, stateDir, progress(ctx), r.clusterFlags()...)
	if err != nil {
		return nil, err
	}
	return &site{
		Cluster: cluster,
		note:    r.note(),
		end: func(ctx context.Context) error {
			if err := cluster.Stop(ctx); err != nil {
				return fmt.Errorf("%w: %w", errNotStopped, err)
			}
			return nil
		},
	}, nil
}

func (r request) clusterFlags() []string {
	switch {
	case r.pods:
		// The manager is in an image. Programs from elsewhere may be too old for the kubelet.
		return []string{"--nodes=real", "--also=lintel"}
	case r.everything:
		return append(anyWay, "--also=manager,lintel")
	}
	return append(anyWay, "--also=manager,lintel", "--without="+leftOut)
}

// anyWay are the flags of test/cluster that take programs where they are had first.
var anyWay = []string{"--from=assets,path,download,build", "--fast-build"}

// note says what the user will miss in the cluster.
func (r request) note() string {
	if r.everything {
		return ""
	}
	return `It has etcd, kube-apiserver and cert-manager. Without kube-controller-manager,
kube-scheduler and a node, Pods stay Pending, Deployments create none, and
nothing is garbage-collected. To have them, also to try how Lintel is removed:
make run COMPONENTS=all

`
}
