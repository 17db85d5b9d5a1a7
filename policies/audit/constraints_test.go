package audit_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/audit"
	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/engine"
	"github.com/lintel-policy/lintel/policies/exception"
	"github.com/lintel-policy/lintel/policies/gatekeeper"
	"github.com/lintel-policy/lintel/policies/hierarchy"
	"github.com/lintel-policy/lintel/policies/policyset"
)

// constrained is a template that denies every Pod, with one constraint, and more objects.
func constrained(spec, more string) map[string]string {
	return map[string]string{"t.yaml": `apiVersion: templates.gatekeeper.sh/v1
kind: ConstraintTemplate
metadata: {name: k8st}
spec:
  crd: {spec: {names: {kind: K8sT}}}
  targets:
  - target: admission.k8s.gatekeeper.sh
    rego: |
      package k8st
      violation[{"msg": "no"}] { input.review.object }
---
apiVersion: constraints.gatekeeper.sh/v1beta1
kind: K8sT
metadata: {name: c}
spec:
  match: {kinds: [{apiGroups: [""], kinds: [Pod]}]}
` + spec + more}
}

// A constraint has the actions of each enforcement point there alone.
func TestScopedConstraints(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		actions   string
		outcome   audit.Outcome // empty: not audited
		admission string
		scoped    []string
	}{
		"audit":           {"{action: deny, enforcementPoints: [{name: audit.gatekeeper.sh}]}", audit.Fail, "", []string{"deny"}},
		"webhook":         {"{action: deny, enforcementPoints: [{name: validation.gatekeeper.sh}]}", "", "denied", nil},
		"every":           {"{action: warn, enforcementPoints: [{name: '*'}]}", audit.Warn, "warned", []string{"warn"}},
		"both":            {"{action: deny, enforcementPoints: [{name: audit.gatekeeper.sh}, {name: validation.gatekeeper.sh}]}", audit.Fail, "denied", []string{"deny"}},
		"warn in audit":   {"{action: deny, enforcementPoints: [{name: validation.gatekeeper.sh}]}, {action: warn, enforcementPoints: [{name: audit.gatekeeper.sh}]}", audit.Warn, "denied", []string{"warn"}},
		"dryrun in audit": {"{action: warn, enforcementPoints: [{name: validation.gatekeeper.sh}]}, {action: dryrun, enforcementPoints: [{name: audit.gatekeeper.sh}]}", audit.Fail, "warned", []string{"dryrun"}},
		"strictest":       {"{action: warn, enforcementPoints: [{name: audit.gatekeeper.sh}]}, {action: deny, enforcementPoints: [{name: '*'}]}", audit.Fail, "denied", []string{"warn", "deny"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			auditor := auditorOf(t, constrained("  enforcementAction: scoped\n  scopedEnforcementActions: ["+c.actions+"]\n", ""))
			require.Len(t, auditor.Policies(), 1)
			info := auditor.Policies()[0]
			require.Equal(t, c.scoped, info.ScopedActions)
			found, err := auditor.Evaluate(t.Context(), []byte(pod), pods, engine.Options{Offline: true})
			require.NoError(t, err)
			if c.outcome == "" {
				require.Empty(t, found.Results)
				require.Empty(t, auditor.Targets(), "no object is listed for it")
				require.Equal(t, "t.yaml:18: spec.scopedEnforcementActions", info.NotAuditable[0].String())
				require.True(t, info.NotAuditable[0].IsWhole())
			} else {
				require.Len(t, found.Results, 1)
				require.Equal(t, c.outcome, found.Results[0].Outcome)
				require.Len(t, auditor.Targets(), 1)
				require.Empty(t, info.NotAuditable)
			}

			review, err := admission.NewReview(fmt.Appendf(nil, `{"uid":"1","operation":"CREATE","name":"web","namespace":"shop","kind":{"version":"v1","kind":"Pod"},"resource":{"version":"v1","resource":"pods"},"object":%s}`, pod))
			require.NoError(t, err)
			decision := auditor.Snapshot().Validate(t.Context(), review, engine.Options{})
			require.Len(t, decision.Denials, map[bool]int{true: 1}[c.admission == "denied"])
			require.Len(t, decision.Warnings, map[bool]int{true: 1}[c.admission == "warned"])
			require.Empty(t, decision.Audits)
			require.Equal(t, c.admission != "", info.Validates, "the webhook is called for it")
			require.Equal(t, c.admission == "", info.OnlyStored)
			if c.admission == "" {
				require.Equal(t, definition.EnforceAudit, info.Enforcement)
				explained := auditor.Snapshot().Explain(t.Context(), review, engine.Options{})
				require.Equal(t, "scopedEnforcementActions", explained[0].Condition)
			}
		})
	}
}

// The Config of Gatekeeper excludes namespaces from each process.
func TestAuditExcludesNamespacesOfTheConfig(t *testing.T) {
	t.Parallel()
	config := `---
apiVersion: config.gatekeeper.sh/v1alpha1
kind: Config
metadata: {name: config, namespace: gatekeeper-system}
spec:
  match:
  - {excludedNamespaces: ['kube-*'], processes: ['*']}
  - {excludedNamespaces: [hooks], processes: [webhook]}
  - {excludedNamespaces: [audited], processes: [audit, sync]}
  - {excludedNamespaces: [synced], processes: [sync, mutation-webhook]}
`
	auditor := auditorOf(t, constrained("", config))
	for namespace, excluded := range map[string]bool{"kube-public": true, "hooks": false, "audited": true, "synced": false, "shop": false} {
		object := fmt.Appendf(nil, `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"web","namespace":%q}}`, namespace)
		found, err := auditor.Evaluate(t.Context(), object, pods, engine.Options{Offline: true})
		require.NoError(t, err)
		require.Equal(t, excluded, len(found.Results) == 0, namespace)
	}
	before := auditor.Snapshot()
	other := auditorOf(t, constrained("", config+"  - {excludedNamespaces: [more], processes: [audit]}\n")).Snapshot()
	require.False(t, other.AuditsAlike(before, admission.GroupVersionKind{Kind: "Pod"}), "its results are other ones")
}

// An exception exempts objects from a constraint, at admission and in audit.
func TestExceptionsFromConstraints(t *testing.T) {
	t.Parallel()
	expires := time.Date(2026, 12, 4, 17, 0, 0, 0, time.UTC)
	set, err := policyset.Compile(definition.Source{Name: "gatekeeper", Files: constrained("", "")}, gatekeeper.Dialect)
	require.NoError(t, err)
	for name, c := range map[string]struct {
		change func(*exception.Exception)
		now    time.Time
		exempt bool
	}{
		"in force":           {func(*exception.Exception) {}, expires.Add(-time.Second), true},
		"deny":               {func(e *exception.Exception) { e.Rule = "deny" }, expires.Add(-time.Second), true},
		"warn":               {func(e *exception.Exception) { e.Rule = "warn" }, expires.Add(-time.Second), false},
		"expired":            {func(*exception.Exception) {}, expires, false},
		"another constraint": {func(e *exception.Exception) { e.Policy = "K8sT/other" }, expires.Add(-time.Second), false},
		"another namespace":  {func(e *exception.Exception) { e.Namespaces = []string{"other"} }, expires.Add(-time.Second), false},
		"another kind":       {func(e *exception.Exception) { e.Kinds = []admission.GroupVersionKind{{Kind: "Secret"}} }, expires.Add(-time.Second), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			one := exception.Exception{
				Name: "friday", Scope: hierarchy.Key{Level: hierarchy.Enterprise}, Source: "gatekeeper", Policy: "K8sT/c",
				Namespaces: []string{"shop"}, Expires: expires,
			}
			c.change(&one)
			compiled, err := one.Compiled()
			require.NoError(t, err)
			snapshot := engine.NewSnapshotWithExceptions(admission.BuiltinResources(), []*exception.Exception{compiled}, set)
			options := engine.Options{Clock: func() time.Time { return c.now }}
			found, err := audit.New(snapshot, nil).Evaluate(t.Context(), []byte(pod), pods, options)
			require.NoError(t, err)
			require.Len(t, found.Results, 1)
			require.Equal(t, audit.Constraint{Kind: "K8sT", Name: "c"}, *found.Results[0].Constraint)
			review, err := admission.NewReview(fmt.Appendf(nil, `{"uid":"1","operation":"CREATE","name":"web","namespace":"shop","kind":{"version":"v1","kind":"Pod"},"resource":{"version":"v1","resource":"pods"},"object":%s}`, pod))
			require.NoError(t, err)
			decision := snapshot.Validate(t.Context(), review, options)
			if !c.exempt {
				require.Equal(t, audit.Fail, found.Results[0].Outcome)
				require.Len(t, decision.Denials, 1)
				return
			}
			require.Equal(t, audit.Skip, found.Results[0].Outcome)
			require.Equal(t, "friday", found.Results[0].Exception)
			require.Equal(t, expires, found.Results[0].ExceptionExpires)
			require.Empty(t, decision.Denials)
			require.Len(t, decision.Exempted, 1)
		})
	}
}
