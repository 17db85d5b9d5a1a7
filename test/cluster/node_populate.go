package main

import (
	"context"
	"fmt"

	"github.com/lintel-policy/lintel/test/cluster/internal/binaries"
)

// populateReal brings a cluster with real nodes to the state in which tests may
// start. The kubelet needs the image of which every Pod has a container.
func (s *supervisor) populateReal(ctx context.Context, k kubectl) error {
	if err := s.start(ctx, binaries.Containerd); err != nil {
		return err
	}
	if err := s.makeImages(ctx); err != nil {
		return err
	}
	if err := s.start(ctx, binaries.Kubelet); err != nil {
		return err
	}
	if s.state.has(binaries.CertManager) {
		s.announce("installing cert-manager")
		if err := k.installCRDs(ctx, s.state.Binaries[binaries.CertManagerCRDs]); err != nil {
			return err
		}
	}
	if err := k.awaitNode(ctx); err != nil {
		return err
	}
	if err := k.awaitServiceAccount(ctx); err != nil {
		return err
	}
	deployments := map[string]string{binaries.CoreDNS: "kube-system"}
	if s.state.has(binaries.CertManager) {
		deployments[binaries.CertManager] = "cert-manager"
	}
	for name := range deployments {
		manifest, err := real.ReadFile("real/" + name + ".yaml")
		if err != nil {
			return fmt.Errorf("reading the manifest of %s: %w", name, err)
		}
		if _, err := k.run(ctx, string(manifest), "apply", "--server-side", "-f", "-"); err != nil {
			return fmt.Errorf("installing %s: %w", name, err)
		}
	}
	s.announce("waiting for the first Pods")
	for name, namespace := range deployments {
		if _, err := k.run(ctx, "", "rollout", "status", "deployment/"+name, "--namespace="+namespace); err != nil {
			return fmt.Errorf("waiting for %s: %w", name, err)
		}
	}
	return nil
}

// start starts one component and waits until it is healthy.
func (s *supervisor) start(ctx context.Context, name string) error {
	list, err := choose(s.all, []string{name})
	if err != nil {
		return err
	}
	return s.fleet.startAll(ctx, list)
}
