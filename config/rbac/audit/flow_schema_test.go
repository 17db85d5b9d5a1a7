// Package audit_test checks the priority of audit at the API server.
package audit_test

import (
	"bytes"
	"io/fs"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	"sigs.k8s.io/yaml"

	"github.com/lintel-policy/lintel/config/crd"
)

func flowSchemas(t *testing.T) map[string]flowcontrolv1.FlowSchema {
	t.Helper()
	text, err := os.ReadFile("flow_schema.yaml")
	require.NoError(t, err)
	found := map[string]flowcontrolv1.FlowSchema{}
	for _, document := range bytes.Split(text, []byte("\n---\n")) {
		var schema flowcontrolv1.FlowSchema
		require.NoError(t, yaml.Unmarshal(document, &schema))
		if schema.Kind == "FlowSchema" {
			require.NoError(t, yaml.UnmarshalStrict(document, &schema))
			found[schema.Name] = schema
		}
	}
	require.Len(t, found, 2)
	return found
}

// matches reports whether a request of the manager belongs to a FlowSchema.
func matches(schema flowcontrolv1.FlowSchema, verb, group, resource string) bool {
	has := func(names []string, name string) bool {
		return slices.Contains(names, "*") || slices.Contains(names, name)
	}
	for _, rule := range schema.Spec.Rules {
		for _, one := range rule.ResourceRules {
			if has(one.Verbs, verb) && has(one.APIGroups, group) && has(one.Resources, resource) {
				return true
			}
		}
	}
	return false
}

// Only lists, watches and reports have the low priority.
func TestLowPriorityIsForListsAndReports(t *testing.T) {
	t.Parallel()
	all := flowSchemas(t)
	manager, audit := all["lintel-manager"], all["lintel-audit"]
	require.Less(t, manager.Spec.MatchingPrecedence, audit.Spec.MatchingPrecedence, "the first one that matches decides")
	require.NotEqual(t, manager.Spec.PriorityLevelConfiguration, audit.Spec.PriorityLevelConfiguration)
	low := func(verb, group, resource string) bool {
		return !matches(manager, verb, group, resource) && matches(audit, verb, group, resource)
	}
	for _, verb := range []string{"list", "watch"} {
		require.True(t, low(verb, "", "pods"))
		require.True(t, low(verb, "apps", "deployments"))
		for _, resource := range []string{"namespaces", "configmaps", "secrets"} {
			require.False(t, low(verb, "", resource), "admission needs %s", resource)
		}
	}
	for _, verb := range []string{"get", "create", "update", "patch", "delete"} {
		require.False(t, low(verb, "", "pods"))
		require.False(t, low(verb, "apps", "deployments"))
		require.False(t, low(verb, "events.k8s.io", "events"))
		require.True(t, low(verb, "openreports.io", "reports"))
		require.True(t, low(verb, "wgpolicyk8s.io", "policyreports"))
	}
}

// The controllers of a system do not wait behind lists of audit.
func TestOwnKindsDoNotHaveTheLowPriority(t *testing.T) {
	t.Parallel()
	manager, groups := flowSchemas(t)["lintel-manager"], 0
	err := fs.WalkDir(crd.Files, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		group, resource, _ := strings.Cut(strings.TrimSuffix(entry.Name(), ".yaml"), "_")
		groups++
		require.True(t, matches(manager, "watch", group, resource), path)
		return nil
	})
	require.NoError(t, err)
	require.NotZero(t, groups)
}
