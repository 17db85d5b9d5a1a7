package audit

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	core "github.com/lintel-policy/lintel/policies/audit"
)

// owned is the metadata of an object with a controller.
func owned(apiVersion, kind, name, labels string) string {
	return fmt.Sprintf(`{"metadata":{"labels":{%s},"ownerReferences":[{"apiVersion":%q,"kind":%q,"name":%q,"controller":true}]}}`, labels, apiVersion, kind, name)
}

type violation struct {
	object Object
	text   string
	result core.Result
}

func (v violation) key() string { return keyOf(v.object, []byte(v.text), v.result) }

func podOf(name, text, message string) violation {
	return violation{Object{APIVersion: "v1", Kind: "Pod", Namespace: "shop", Name: name}, text, core.Result{Policy: "p", Rule: "deny", Message: message}}
}

// TestKeysOfOneViolation are equal in other runs.
func TestKeysOfOneViolation(t *testing.T) {
	t.Parallel()
	for name, c := range map[string][2]violation{
		"the same":      {podOf("web", "{}", "no"), podOf("web", "{}", "no")},
		"a rollout":     {podOf("web-7d9f-abcde", owned("apps/v1", "ReplicaSet", "web-7d9f", `"pod-template-hash":"7d9f"`), "Pod web-7d9f-abcde"), podOf("web-5c2b-fghij", owned("apps/v1", "ReplicaSet", "web-5c2b", `"pod-template-hash":"5c2b"`), "Pod web-5c2b-fghij")},
		"a StatefulSet": {podOf("db-0", owned("apps/v1", "StatefulSet", "db", `"controller-revision-hash":"db-1"`), "no"), podOf("db-1", owned("apps/v1", "StatefulSet", "db", `"controller-revision-hash":"db-2"`), "no")},
		"a CronJob":     {podOf("backup-28391823-x", owned("batch/v1", "Job", "backup-28391823", ""), "no"), podOf("backup-28391900-y", owned("batch/v1", "Job", "backup-28391900", ""), "no")},
		"a time":        {podOf("web", "{}", "since 2026-11-27T10:00:00Z"), podOf("web", "{}", "since 2026-11-28T11:30:01.5+01:00")},
		"a uid":         {podOf("web", "{}", "of 0c5e8f7a-0b7e-4c7e-9d3e-2f3c8a1b4d5e"), podOf("web", "{}", "of 1c5e8f7a-0b7e-4c7e-9d3e-2f3c8a1b4d5f")},
		"white space":   {podOf("web", "{}", "a  b\n"), podOf("web", "{}", "a b")},
	} {
		require.Equal(t, c[0].key(), c[1].key(), name)
	}
	other := podOf("web", "{}", "no")
	other.object.UID, other.object.APIVersion, other.result.Source, other.result.Revision, other.result.Location.Line = "u", "v2", "s", "r", 7
	require.Equal(t, podOf("web", "{}", "no").key(), other.key())
}

// TestKeysOfDifferentViolations differ, so that a new one is never taken for a known one.
func TestKeysOfDifferentViolations(t *testing.T) {
	t.Parallel()
	change := func(change func(*violation)) violation {
		v := podOf("web", "{}", "no")
		change(&v)
		return v
	}
	all := map[string]violation{
		"one":             podOf("web", "{}", "no"),
		"name":            podOf("api", "{}", "no"),
		"message":         podOf("web", "{}", "no 2"),
		"namespace":       change(func(v *violation) { v.object.Namespace = "other" }),
		"kind":            change(func(v *violation) { v.object.Kind = "Job" }),
		"group":           change(func(v *violation) { v.object.APIVersion = "example.com/v1" }),
		"policy":          change(func(v *violation) { v.result.Policy = "q" }),
		"rule":            change(func(v *violation) { v.result.Rule = "warn" }),
		"field":           change(func(v *violation) { v.result.Field = "spec" }),
		"a custom owner":  podOf("db-primary", owned("example.com/v1", "Database", "db", ""), "no"),
		"another of it":   podOf("db-replica", owned("example.com/v1", "Database", "db", ""), "no"),
		"not a generated": podOf("standalone", owned("apps/v1", "ReplicaSet", "web-7d9f", `"pod-template-hash":"7d9f"`), "no"),
		"of a Deployment": podOf("web-7d9f-a", owned("apps/v1", "ReplicaSet", "web-7d9f", `"pod-template-hash":"7d9f"`), "no"),
		"of a DaemonSet":  podOf("web-a", owned("apps/v1", "DaemonSet", "web", ""), "no"),
	}
	keys := map[string]string{}
	for name, v := range all {
		require.Empty(t, keys[v.key()], name)
		keys[v.key()] = name
	}
}

// TestDiffOfWhatWasNotEvaluated: a violation is fixed only if its policy was evaluated again for
// all objects of its kind.
func TestDiffOfWhatWasNotEvaluated(t *testing.T) {
	t.Parallel()
	one := Result{Key: "k", Object: Object{APIVersion: "apps/v1", Kind: "Deployment", Name: "web"}, Result: core.Result{Policy: "p", Outcome: core.Fail}}
	before := &Report{Results: []Result{one}}
	known := []PolicyCount{{Policy: "p"}}
	for name, c := range map[string]struct {
		after *Report
		fixed bool
	}{
		"evaluated":           {&Report{Policies: known}, true},
		"another kind":        {&Report{Policies: known, NotAudited: []NotAudited{{Resource: "pods", Kind: "Pod"}}}, true},
		"its kind":            {&Report{Policies: known, NotAudited: []NotAudited{{Resource: "deployments.apps", Group: "apps", Kind: "Deployment"}}}, false},
		"its group":           {&Report{Policies: known, NotAudited: []NotAudited{{Resource: "*.apps", Group: "apps"}}}, false},
		"a file":              {&Report{Policies: known, NotAudited: []NotAudited{{Reason: "a.yaml:1: x"}}}, false},
		"without its policy":  {&Report{}, false},
		"undecided":           {&Report{Policies: known, Undecided: []Undecided{{Policy: "p"}}}, false},
		"undecided objects":   {&Report{Policies: known, Undecided: []Undecided{{}}}, false},
		"another undecided":   {&Report{Policies: known, Undecided: []Undecided{{Policy: "q"}}}, true},
		"an error":            {&Report{Policies: []PolicyCount{{Policy: "p", Counts: core.Counts{core.Error: 1}}}}, false},
		"no longer auditable": {&Report{Policies: known, NotAuditable: []NotAuditable{{Policy: "p"}}}, false},
	} {
		d := diffReports(before, c.after)
		require.Equal(t, c.fixed, len(d.Fixed) == 1, name)
		require.Equal(t, !c.fixed, len(d.Unknown) == 1, name)
	}
}
