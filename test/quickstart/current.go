package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/lintel-policy/lintel/test/installation"
)

// namespace is where the Pods of the transcript are created in an existing cluster.
const namespace = "lintel-quickstart"

// removal are the kubectl commands that remove everything again. They begin with the objects
// that make the API server call Lintel, which no longer runs.
var removal = [][]string{
	{"delete", "--ignore-not-found", "validatingwebhookconfiguration,mutatingwebhookconfiguration", "--selector=app.kubernetes.io/managed-by=lintel"},
	{"delete", "--ignore-not-found", "namespace", namespace},
	{"delete", "--ignore-not-found", "-f", permissions},
	{"delete", "--ignore-not-found", "-k", "config/local"},
}

// errNotRemoved says that parts of Lintel may be left in the cluster.
var errNotRemoved = errors.New("the cluster may still have parts of Lintel")

// useCurrent takes the cluster of the current context.
func useCurrent(ctx context.Context, _ request, stateDir string) (*site, error) {
	say("using the cluster of the current context, as CLUSTER=current asks …")
	cluster, err := installation.CurrentCluster(ctx, filepath.Join(filepath.Dir(stateDir), "current"), progress(ctx), anyWay...)
	if err != nil {
		return nil, err
	}
	if err := suitable(ctx, cluster); err != nil {
		return nil, err
	}
	name, err := cluster.Kubectl(ctx, "", "config", "current-context")
	if err != nil {
		return nil, fmt.Errorf("reading the name of the context: %w: %s", err, name)
	}
	announceInstallation(os.Stderr, strings.TrimSpace(name), cluster.Server)
	if isTerminal(os.Stdin) {
		if err := confirm(ctx, os.Stdin, os.Stderr); err != nil {
			return nil, err
		}
	}
	if err := callsBack(ctx, cluster); err != nil {
		return nil, err
	}
	s := &site{Cluster: cluster, end: func(ctx context.Context) error { return remove(ctx, cluster) }}
	for _, args := range [][]string{
		{"create", "namespace", namespace},
		{"config", "set-context", "--current", "--namespace=" + namespace},
	} {
		if output, err := cluster.Kubectl(ctx, "", args...); err != nil {
			return nil, errors.Join(fmt.Errorf("kubectl %s: %w: %s", strings.Join(args, " "), err, output), s.end(ctx))
		}
	}
	return s, nil
}

// suitable returns why Lintel cannot be shown in the cluster.
func suitable(ctx context.Context, cluster *installation.Cluster) error {
	if output, err := cluster.Kubectl(ctx, "", "get", "--raw=/readyz"); err != nil {
		return fmt.Errorf("the cluster at %s is not ready: %w: %s", cluster.Server, err, output)
	}
	output, err := cluster.Kubectl(ctx, "", "get", "customresourcedefinitions",
		"certificates.cert-manager.io", "policysources.policy.lintel.dev", "--ignore-not-found", "--output=name")
	if err != nil {
		return fmt.Errorf("looking for cert-manager: %w: %s", err, output)
	}
	if !strings.Contains(output, "certificates.cert-manager.io") {
		return fmt.Errorf("the cluster at %s has no cert-manager, from which Lintel gets its certificate: install it first, as in https://cert-manager.io/docs/installation/", cluster.Server)
	}
	for _, used := range [][]string{{"namespace", installation.Namespace}, {"namespace", namespace}} {
		found, err := cluster.Kubectl(ctx, "", "get", used[0], used[1], "--ignore-not-found", "--output=name")
		if err != nil {
			return fmt.Errorf("looking for the %s %s: %w: %s", used[0], used[1], err, found)
		}
		output += found
	}
	if strings.Contains(output, "lintel") {
		return fmt.Errorf("the cluster at %s has Lintel, or parts of it: %s. They would be removed at the end of this run: remove them before, or use another cluster",
			cluster.Server, strings.Join(strings.Fields(strings.ReplaceAll(output, "customresourcedefinition.apiextensions.k8s.io/certificates.cert-manager.io", "")), ", "))
	}
	return nil
}

// announceInstallation says what happens to the cluster.
func announceInstallation(w io.Writer, context, server string) {
	fmt.Fprintf(w, `
Context %q, server %s

This installs in the cluster: the namespace %s, Lintel's
CustomResourceDefinitions, ClusterRoles and webhook configurations, and the
sample policies, which are enforced in all namespaces. Pods are created in the
namespace %s. The manager runs as a process on this machine.
At the end all of that is removed, as by these commands:

`, context, server, installation.Namespace, namespace)
	for _, args := range removal {
		fmt.Fprintln(w, "  kubectl", strings.Join(args, " "))
	}
	fmt.Fprintln(w)
}

// confirm returns an error unless the user agrees.
func confirm(ctx context.Context, in io.Reader, out io.Writer) error {
	fmt.Fprint(out, "Continue? [y/N] ")
	answers := make(chan string, 1)
	go func() {
		answer, _ := bufio.NewReader(in).ReadString('\n')
		answers <- answer
	}()
	select {
	case answer := <-answers:
		if answer = strings.ToLower(strings.TrimSpace(answer)); answer == "y" || answer == "yes" {
			return nil
		}
		return errors.New("not confirmed; nothing was changed")
	case <-ctx.Done():
		fmt.Fprintln(out)
		return ctx.Err()
	}
}

// remove removes the installed objects. The manager has ended.
func remove(ctx context.Context, cluster *installation.Cluster) error {
	say("removing Lintel from the cluster …")
	var failed error
	for _, args := range removal {
		if output, err := cluster.Kubectl(ctx, "", args...); err != nil {
			failed = errors.Join(failed, fmt.Errorf("kubectl %s: %w: %s", strings.Join(args, " "), err, output))
		}
	}
	if failed != nil {
		return fmt.Errorf("%w: %w", errNotRemoved, failed)
	}
	return os.RemoveAll(filepath.Dir(cluster.Kubeconfig))
}
