package e2e

// This file has the helpers that the tests of several systems share.

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lintel-policy/lintel/test/installation"
)

// applyForTest applies objects, and deletes them in the end.
func applyForTest(t *testing.T, objects string) {
	t.Helper()
	t.Cleanup(func() {
		_, _ = cluster.Kubectl(context.Background(), objects, "delete", "--ignore-not-found", "-f", "-")
	})
	eventually(t, func() bool {
		_, ok := kubectl(t, objects, "apply", "-f", "-")
		return ok
	}, "the objects to be taken")
}

func coreArgs() []string { return []string{"--gatekeeper", "--allow-file-origins"} }

// startCore installs Gatekeeper's kinds, and what a manager with --gatekeeper may do.
func startCore(ctx context.Context, _ string) (func() error, error) {
	for _, folder := range []string{"config/gatekeeper", "config/rbac/gatekeeper"} {
		if output, err := cluster.Kubectl(ctx, "", "apply", "-k", filepath.Join(installation.Root(), folder)); err != nil {
			return nil, fmt.Errorf("installing %s: %w: %s", folder, err, output)
		}
	}
	return nil, nil
}

func says(conditions []metav1.Condition, kind string) string {
	condition := meta.FindStatusCondition(conditions, kind)
	if condition == nil {
		return ""
	}
	return string(condition.Status) + " " + condition.Reason
}

func asJSON(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		panic("maps of strings always have JSON: " + err.Error())
	}
	return string(text)
}

func secret(namespace, name, key, value string) string {
	return asJSON(map[string]any{
		"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"name": name, "namespace": namespace},
		"stringData": map[string]any{key: value},
	})
}

// withoutBindings takes ClusterRoleBindings away for one test.
func withoutBindings(t *testing.T, names ...string) {
	t.Helper()
	for _, name := range names {
		text := mustGet(t, "clusterrolebinding", name, "-o", `jsonpath={.roleRef.name}`)
		mustKubectl(t, "", "delete", "clusterrolebinding", name)
		if strings.HasPrefix(name, "lintel-") { // the others come back with their folder
			t.Cleanup(func() {
				_, err := cluster.Kubectl(context.Background(), "", "create", "clusterrolebinding", name, "--clusterrole="+text, "--serviceaccount="+installation.Namespace+":lintel-manager")
				if err != nil {
					t.Errorf("bringing %s back: %v", name, err)
				}
			})
		}
	}
}

// otherSystemsBindings are the ClusterRoleBindings that the tests made for the manager,
// one or more for each system.
func otherSystemsBindings(t *testing.T) []string {
	t.Helper()
	var names []string
	for line := range strings.Lines(mustGet(t, "clusterrolebindings", "-o", `jsonpath={range .items[*]}{.metadata.name} {.roleRef.name}{"\n"}{end}`)) {
		name, role, _ := strings.Cut(strings.TrimSpace(line), " ")
		if strings.HasPrefix(name, "lintel-") && !strings.HasPrefix(role, "lintel-") {
			names = append(names, name)
		}
	}
	return names
}

func eventsOf(t *testing.T, namespace string) string {
	t.Helper()
	output, _ := get(t, "events.events.k8s.io", "-n", namespace, "-o", "jsonpath={range .items[*]}{.regarding.name} {.type} {.reason}{\"\\n\"}{end}")
	return output
}

// awaitCondition returns a condition of an object once it has the awaited status.
func awaitCondition(t *testing.T, namespace, name, kind, status string) *metav1.Condition {
	t.Helper()
	type conditioned struct {
		Status struct{ Conditions []metav1.Condition }
	}
	found := waitFor(t, namespace, name, kind+" to be "+status, func(object *conditioned) bool {
		return says(object.Status.Conditions, kind) == status
	})
	return meta.FindStatusCondition(found.Status.Conditions, kind)
}
