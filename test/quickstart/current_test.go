package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lintel-policy/lintel/test/installation"
)

// TestShownInAnExistingCluster: a cluster that is used on request is left as it was.
func TestShownInAnExistingCluster(t *testing.T) {
	t.Parallel()
	cluster, err := installation.StartCluster(t.Context(), filepath.Join(t.TempDir(), "existing"), os.Stderr)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, cluster.Stop(context.Background())) })
	objects := func() string {
		output, err := cluster.Kubectl(t.Context(), "", "get", "--all-namespaces", "--output=name", "--sort-by=.metadata.name",
			"namespaces,customresourcedefinitions,clusterroles,clusterrolebindings,pods,"+
				"validatingwebhookconfigurations,mutatingwebhookconfigurations")
		require.NoError(t, err, output)
		return output
	}
	before := objects()
	run := func() (string, error) {
		command := exec.CommandContext(t.Context(), os.Args[0])
		command.Env = append(os.Environ(), showIn+"="+filepath.Join(t.TempDir(), "run"), "CLUSTER=current", "KUBECONFIG="+cluster.Kubeconfig)
		output, err := command.CombinedOutput()
		return string(output), err
	}

	output, err := run()
	require.NoError(t, err, output)
	for _, text := range []string{
		"server " + cluster.Server, "using lintel, manager: compiled from this checkout",
		"denied the request", "Warning:", "Lintel has been removed from the cluster again",
	} {
		require.Contains(t, output, text)
	}
	require.Equal(t, before, objects())

	for _, step := range []struct {
		change  []string
		refusal string
	}{
		{[]string{"create", "namespace", installation.Namespace}, "has Lintel, or parts of it: namespace/lintel-system."},
		{[]string{"delete", "customresourcedefinition", "certificates.cert-manager.io"}, "has no cert-manager"},
	} {
		said, err := cluster.Kubectl(t.Context(), "", step.change...)
		require.NoError(t, err, said)
		output, err := run()
		require.Error(t, err)
		require.Contains(t, output, step.refusal)
	}
}
