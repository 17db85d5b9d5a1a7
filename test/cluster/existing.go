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
)

// existing describes the cluster that KUBECONFIG names. Nothing is started and
// nothing is written there.
func existing(ctx context.Context, opts upOptions, progress *binaries.Progress) (report, error) {
	path := os.Getenv("KUBECONFIG")
	if path == "" {
		return report{}, errors.New("--use-existing-kubeconfig needs KUBECONFIG to name the cluster's kubeconfig file")
	}
	if strings.ContainsRune(path, os.PathListSeparator) {
		return report{}, fmt.Errorf("KUBECONFIG names several files (%s); set it to one", path)
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return report{}, fmt.Errorf("resolving KUBECONFIG: %w", err)
	}
	if _, err := os.Stat(path); err != nil {
		return report{}, fmt.Errorf("reading KUBECONFIG: %w", err)
	}
	program, err := anyKubectl(ctx, opts, progress)
	if err != nil {
		return report{}, err
	}
	cache, err := os.MkdirTemp("", "lintel-kubectl-")
	if err != nil {
		return report{}, fmt.Errorf("creating a folder for kubectl: %w", err)
	}
	defer func() { _ = os.RemoveAll(cache) }()

	ctx, cancel := context.WithTimeout(ctx, opts.timeout)
	defer cancel()
	k := kubectl{path: program, kubeconfig: path, cache: cache}
	server, err := k.run(ctx, "", "config", "view", "--minify", "--output=jsonpath={.clusters[0].cluster.server}")
	if err != nil {
		return report{}, fmt.Errorf("reading the server from %s: %w", path, err)
	}
	if _, err := k.run(ctx, "", "get", "--raw=/readyz"); err != nil {
		return report{}, fmt.Errorf("the cluster at %s is not ready: %w", server, err)
	}
	definitions, err := k.run(ctx, "", "get", "customresourcedefinitions", "certificates.cert-manager.io",
		"--ignore-not-found", "--output=name")
	if err != nil {
		return report{}, fmt.Errorf("looking for cert-manager: %w", err)
	}
	return report{
		Kubeconfig:  path,
		Server:      server,
		StateDir:    string(opts.dir),
		Binaries:    map[string]string{binaries.Kubectl: program},
		CertManager: definitions != "",
	}, nil
}

// anyKubectl prefers an existing kubectl to a build.
func anyKubectl(ctx context.Context, opts upOptions, progress *binaries.Progress) (string, error) {
	if opts.origins.Assets == "" {
		if path, err := exec.LookPath(binaries.Kubectl); err == nil {
			return filepath.Abs(path)
		}
	}
	set, err := resolve(ctx, opts, progress, []string{binaries.Kubectl})
	return set[binaries.Kubectl], err
}
