package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/lintel-policy/lintel/test/cluster/internal/binaries"
	"github.com/lintel-policy/lintel/test/cluster/internal/process"
)

// nodeName is the one Node.
const nodeName = "node-0"

const nodeManifest = `apiVersion: v1
kind: Node
metadata:
  name: ` + nodeName + `
  labels:
    kubernetes.io/hostname: ` + nodeName + `
    kubernetes.io/os: linux
    kubernetes.io/arch: amd64
    node-role.kubernetes.io/worker: ""
    type: kwok
`

const certManagerNamespace = `apiVersion: v1
kind: Namespace
metadata:
  name: cert-manager
`

// kubectl runs commands against one cluster.
type kubectl struct {
	path, kubeconfig, cache string
}

// run returns the standard output of one kubectl command.
func (k kubectl) run(ctx context.Context, stdin string, args ...string) (string, error) {
	var stdout, stderr strings.Builder
	cmd := exec.Command(k.path, append([]string{"--kubeconfig=" + k.kubeconfig, "--cache-dir=" + k.cache}, args...)...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(stdin), &stdout, &stderr
	// A user's kubectl preferences must not change what happens here.
	cmd.Env = append(os.Environ(), "KUBERC=off")
	if err := process.RunGroup(ctx, cmd); err != nil {
		return "", fmt.Errorf("kubectl %s: %w: %s", args[0], err, strings.TrimSpace(stderr.String()))
	}
	return stdout.String(), nil
}

// createNode makes Pods schedulable and returns when the Node is Ready.
func (k kubectl) createNode(ctx context.Context) error {
	if _, err := k.run(ctx, nodeManifest, "apply", "--server-side", "-f", "-"); err != nil {
		return fmt.Errorf("creating the node: %w", err)
	}
	return k.awaitNode(ctx)
}

func (k kubectl) awaitNode(ctx context.Context) error {
	return k.poll(ctx, "waiting for the node to be ready", "True",
		"get", "node", nodeName, "-o", `jsonpath={.status.conditions[?(@.type=="Ready")].status}`)
}

// awaitServiceAccount returns when a Pod can be created in default: admission
// refuses Pods until their service account exists.
func (k kubectl) awaitServiceAccount(ctx context.Context) error {
	return k.poll(ctx, "waiting for the default service account", "default",
		"get", "serviceaccount", "default", "--namespace=default", "-o", "jsonpath={.metadata.name}")
}

// installCRDs applies cert-manager's definitions and returns when all serve.
func (k kubectl) installCRDs(ctx context.Context, folder string) error {
	if _, err := k.run(ctx, certManagerNamespace, "apply", "--server-side", "-f", "-"); err != nil {
		return fmt.Errorf("creating the namespace cert-manager: %w", err)
	}
	files, err := filepath.Glob(filepath.Join(folder, "*.yaml"))
	if err != nil || len(files) == 0 {
		return fmt.Errorf("no definitions in %s; delete that folder's parent to have it rebuilt", folder)
	}
	args := []string{"apply", "--server-side"}
	wait := []string{"wait", "--for=condition=Established", "--timeout=-1s"}
	for _, file := range files {
		args, wait = append(args, "-f", file), append(wait, "-f", file)
	}
	if _, err := k.run(ctx, "", args...); err != nil {
		return fmt.Errorf("installing cert-manager's definitions: %w", err)
	}
	if _, err := k.run(ctx, "", wait...); err != nil {
		return fmt.Errorf("waiting for cert-manager's definitions: %w", err)
	}
	return nil
}

// poll repeats a command until it prints want.
func (k kubectl) poll(ctx context.Context, what, want string, args ...string) error {
	err := poll(ctx, func() error {
		got, err := k.run(ctx, "", args...)
		if err == nil && got != want {
			err = errors.New("not yet")
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

// populate brings a cluster whose API server answers to the state in which
// tests may start, and starts what depends on that.
func (s *supervisor) populate(ctx context.Context) error {
	k := kubectl{path: s.state.Binaries[binaries.Kubectl], kubeconfig: s.dir.kubeconfig(), cache: s.dir.path("cache")}
	if s.state.Nodes == realNodes {
		return s.populateReal(ctx, k)
	}
	if s.state.has(binaries.Kwok) {
		if err := k.createNode(ctx); err != nil {
			return err
		}
	}
	if s.state.has(binaries.ControllerManager) {
		if err := k.awaitServiceAccount(ctx); err != nil {
			return err
		}
	}
	if !s.state.has(binaries.CertManager) {
		return nil
	}
	s.announce("installing cert-manager")
	return k.installCRDs(ctx, s.state.Binaries[binaries.CertManagerCRDs])
}
