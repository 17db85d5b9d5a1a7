package engine

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/exception"
	"github.com/lintel-policy/lintel/policies/hierarchy"
)

var (
	expiry       = time.Date(2026, 12, 4, 17, 0, 0, 0, time.UTC)
	beforeExpiry = Options{Clock: func() time.Time { return expiry.Add(-time.Hour) }}
)

// excepting is an exception from the package p of the source test, changed.
func excepting(t *testing.T, change func(*exception.Exception)) *exception.Exception {
	t.Helper()
	one := exception.Exception{
		Name: "friday", Scope: hierarchy.Key{Level: hierarchy.Enterprise}, Source: "test", Policy: "p",
		Namespaces: []string{"shop"}, Expires: expiry,
	}
	change(&one)
	compiled, err := one.Compiled()
	require.NoError(t, err)
	return compiled
}

func unchanged(*exception.Exception) {}

func excepted(exceptions []*exception.Exception, sets ...*PolicySet) *Snapshot {
	return NewSnapshotWithExceptions(admission.BuiltinResources(), exceptions, sets...)
}

const (
	denyAndWarn = "package p\nimport rego.v1\ndeny contains \"no\"\nwarn contains \"careful\""
	deployment  = `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web","namespace":"shop","labels":{"app":"web"}},"spec":{"template":{"metadata":{"labels":{"from":"template"}},"spec":{"containers":[{"name":"c","image":"nginx"}]}}}}`
	expanding   = "# METADATA\n# custom:\n#   match:\n#     kinds: [{group: \"\", kind: Pod}]\n#     expand: deny\npackage p\nimport rego.v1\ndeny contains {\"msg\": \"no\", \"field\": \"spec.containers[0].image\"}"
)

func TestExceptionExempts(t *testing.T) {
	t.Parallel()
	set := compile(t, denyAndWarn)
	for name, test := range map[string]struct {
		change            func(*exception.Exception)
		denials, warnings int
		exempted          int
	}{
		"all rules":                  {change: unchanged, exempted: 2},
		"deny alone":                 {change: func(e *exception.Exception) { e.Rule = "deny" }, warnings: 1, exempted: 1},
		"warn alone":                 {change: func(e *exception.Exception) { e.Rule = "warn" }, denials: 1, exempted: 1},
		"a rule it does not have":    {change: func(e *exception.Exception) { e.Rule = "violation" }, denials: 1, warnings: 1},
		"a pattern of namespaces":    {change: func(e *exception.Exception) { e.Namespaces = []string{"sh*p"} }, exempted: 2},
		"another namespace":          {change: func(e *exception.Exception) { e.Namespaces = []string{"shops", "*-shop"} }, denials: 1, warnings: 1},
		"a kind":                     {change: func(e *exception.Exception) { e.Kinds = []admission.GroupVersionKind{{Kind: "Pod"}} }, exempted: 2},
		"a kind of another group":    {change: func(e *exception.Exception) { e.Kinds = []admission.GroupVersionKind{{Group: "x", Kind: "Pod"}} }, denials: 1, warnings: 1},
		"a name":                     {change: func(e *exception.Exception) { e.Names = []string{"we*"} }, exempted: 2},
		"another name":               {change: func(e *exception.Exception) { e.Names = []string{"eb", "w"} }, denials: 1, warnings: 1},
		"another source":             {change: func(e *exception.Exception) { e.Source = "other" }, denials: 1, warnings: 1},
		"another policy":             {change: func(e *exception.Exception) { e.Policy = "q" }, denials: 1, warnings: 1},
		"another scope":              {change: func(e *exception.Exception) { e.Scope = hierarchy.Key{Level: hierarchy.Team, Name: "shop"} }, denials: 1, warnings: 1},
		"a selector not allowed":     {change: func(e *exception.Exception) { e.Selector = &metav1.LabelSelector{} }, denials: 1, warnings: 1},
		"containers without a field": {change: func(e *exception.Exception) { e.Containers = []string{"*"} }, denials: 1, warnings: 1},
		"too far ahead":              {change: func(e *exception.Exception) { e.Expires = expiry.Add(definition.DefaultExceptionDuration) }, denials: 1, warnings: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			decision := excepted([]*exception.Exception{excepting(t, test.change)}, set).Validate(t.Context(), makeReview(t, pod), beforeExpiry)
			assert.Len(t, decision.Denials, test.denials)
			assert.Len(t, decision.Warnings, test.warnings)
			require.Len(t, decision.Exempted, test.exempted)
			for _, finding := range decision.Exempted {
				assert.Equal(t, "friday", finding.Exception)
				assert.Equal(t, expiry, finding.Expires)
			}
		})
	}
}

// The last moment in which the exception holds is the nanosecond before its expiry, with any
// value of the monotonic clock.
func TestExceptionExpiresExactly(t *testing.T) {
	t.Parallel()
	snapshot := excepted([]*exception.Exception{excepting(t, unchanged)}, compile(t, denyAndWarn))
	allowedAt := func(now time.Time) bool {
		return snapshot.Validate(t.Context(), makeReview(t, pod), Options{Clock: func() time.Time { return now }}).Allowed()
	}
	assert.True(t, allowedAt(expiry.Add(-time.Nanosecond)))
	assert.False(t, allowedAt(expiry))
	assert.False(t, allowedAt(expiry.Add(time.Hour)))
	assert.True(t, allowedAt(expiry.Add(-time.Second)), "a clock that was set back")
	assert.False(t, allowedAt(expiry.Add(-2*definition.DefaultExceptionDuration)), "so far back that the policy allows no such exception")
}

func TestExceptionsNeverCoverErrors(t *testing.T) {
	t.Parallel()
	set := compile(t, "package p\nimport rego.v1\ndeny contains \"no\" if to_number(input.request.object.metadata.name) > 1")
	decision := excepted([]*exception.Exception{excepting(t, unchanged)}, set).Validate(t.Context(), makeReview(t, pod), beforeExpiry)
	require.Len(t, decision.Denials, 1)
	assert.True(t, decision.Denials[0].Error)
	assert.Empty(t, decision.Exempted)
}

func TestExceptionsCoverAudits(t *testing.T) {
	t.Parallel()
	set := compile(t, "# METADATA\n# custom:\n#   enforcement: audit\n"+denyAndWarn)
	decision := excepted([]*exception.Exception{excepting(t, unchanged)}, set).Validate(t.Context(), makeReview(t, pod), beforeExpiry)
	assert.Empty(t, decision.Audits)
	assert.Len(t, decision.Exempted, 2)
}

func TestExceptionsDoNotCoverMutations(t *testing.T) {
	t.Parallel()
	set := compile(t, `package p
import rego.v1
patch contains {"op": "add", "path": "/metadata/annotations", "value": {"a": "b"}}
patch contains {"op": "remove", "path": "/spec/nothing"}`)
	mutation := excepted([]*exception.Exception{excepting(t, unchanged)}, set).Mutate(t.Context(), makeReview(t, pod), beforeExpiry)
	assert.NotEmpty(t, mutation.Denials)
	assert.Empty(t, mutation.Exempted)
}

func TestExceptionOfPodTemplateFollowsTheWorkload(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change  func(*exception.Exception)
		exempts bool
	}{
		"its name":            {func(e *exception.Exception) { e.Names = []string{"web"} }, true},
		"the name of its Pod": {func(e *exception.Exception) { e.Names = []string{"web-pod"} }, false},
		"its kind": {func(e *exception.Exception) {
			e.Kinds = []admission.GroupVersionKind{{Group: "apps", Kind: "Deployment"}}
		}, true},
		"the kind Pod":            {func(e *exception.Exception) { e.Kinds = []admission.GroupVersionKind{{Kind: "Pod"}} }, false},
		"a container of template": {func(e *exception.Exception) { e.Containers = []string{"c"} }, true},
		"another container":       {func(e *exception.Exception) { e.Containers = []string{"d"} }, false},
		"an image":                {func(e *exception.Exception) { e.Images = []string{"ngin*"} }, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			decision := excepted([]*exception.Exception{excepting(t, test.change)}, compile(t, expanding)).Validate(t.Context(), makeReview(t, deployment), beforeExpiry)
			assert.Equal(t, test.exempts, decision.Allowed(), "%v", decision.Denials)
			assert.Equal(t, test.exempts, len(decision.Exempted) == 1)
		})
	}
}

func TestExceptionSelectors(t *testing.T) {
	t.Parallel()
	set := compile(t, "# METADATA\n# custom:\n#   exceptions: {selectors: allowed}\n"+denyAndWarn)
	snapshot := excepted([]*exception.Exception{excepting(t, func(e *exception.Exception) {
		e.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}
	})}, set)
	assert.True(t, snapshot.Validate(t.Context(), makeReview(t, pod), beforeExpiry).Allowed())
	assert.True(t, snapshot.Validate(t.Context(), makeReview(t, pod, operation("DELETE")), beforeExpiry).Allowed(), "the old object")
	unlabelled := makeReview(t, `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"web","namespace":"shop"}}`, operation("UPDATE"), field("oldObject", map[string]any{
		"apiVersion": "v1", "kind": "Pod", "metadata": map[string]any{"name": "web", "namespace": "shop", "labels": map[string]any{"app": "web"}},
	}))
	assert.False(t, snapshot.Validate(t.Context(), unlabelled, beforeExpiry).Allowed(), "a label that the update removes")
}

func TestExceptionsOfScopes(t *testing.T) {
	t.Parallel()
	enterprise := scoped(t, "all", hierarchy.Scope{Level: hierarchy.Enterprise}, "package p\nimport rego.v1\ndeny contains \"no\"")
	team := scoped(t, "team", scopeOf(hierarchy.Team, "shop", "", "shop"), "package q\nimport rego.v1\ndeny contains \"no\"")
	of := func(source, policy string, scope hierarchy.Key) *exception.Exception {
		return excepting(t, func(e *exception.Exception) { e.Source, e.Policy, e.Scope = source, policy, scope })
	}
	teamKey := hierarchy.Key{Level: hierarchy.Team, Name: "shop"}
	own := excepted([]*exception.Exception{of("team", "q", teamKey)}, enterprise, team).Validate(t.Context(), makeReview(t, pod), beforeExpiry)
	require.Len(t, own.Denials, 1, "the same denial of the enterprise stays")
	assert.Equal(t, "all", own.Denials[0].Source)
	forged := excepted([]*exception.Exception{of("all", "p", teamKey)}, enterprise, team).Validate(t.Context(), makeReview(t, pod), beforeExpiry)
	assert.Len(t, forged.Denials, 2, "a team makes no exception from a rule of the enterprise")
}

func TestExceptionProblems(t *testing.T) {
	t.Parallel()
	forbidding := compile(t, "# METADATA\n# custom:\n#   exceptions: {forbidden: true}\n"+denyAndWarn)
	short := compile(t, "# METADATA\n# custom:\n#   exceptions: {maxDuration: 30m}\n"+denyAndWarn)
	for name, test := range map[string]struct {
		set            *PolicySet
		change         func(*exception.Exception)
		reason, prefix string
	}{
		"none":               {set: compile(t, denyAndWarn), change: unchanged},
		"forbidden":          {forbidding, unchanged, ReasonNotPermitted, "spec.policy: Forbidden: policy p allows no exceptions"},
		"too long":           {short, unchanged, ReasonNotPermitted, `spec.expiresAt: Invalid value "2026-12-04T17:00:00Z": policy p allows exceptions for 30m0s at most`},
		"no such source":     {short, func(e *exception.Exception) { e.Source = "tests" }, ReasonSourceNotFound, `spec.source: Not found: no PolicySource "tests" has live policies; did you mean test?`},
		"no such policy":     {short, func(e *exception.Exception) { e.Policy = "labels" }, ReasonPolicyNotFound, `spec.policy: Not found: PolicySource test has no policy "labels"; there are p`},
		"of another scope":   {short, func(e *exception.Exception) { e.Scope.Level, e.Scope.Name = "team", "a" }, ReasonScopeMismatch, "spec.scope: PolicySource test belongs to the enterprise, not to team a"},
		"by label":           {short, func(e *exception.Exception) { e.Selector = &metav1.LabelSelector{} }, ReasonNotPermitted, "spec.match.selector: Forbidden: policy p does not allow exceptions by label"},
		"expired, once long": {short, func(e *exception.Exception) { e.Expires = expiry.Add(-2 * time.Hour) }, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			problems := snapshotOf(test.set).ExceptionProblems(excepting(t, test.change), expiry.Add(-time.Hour))
			if test.reason == "" {
				require.Empty(t, problems)
				return
			}
			require.Len(t, problems, 1)
			assert.Equal(t, test.reason, problems[0].Reason)
			assert.Contains(t, problems[0].Message, test.prefix)
		})
	}
}

func TestLiveKeepsExceptions(t *testing.T) {
	t.Parallel()
	live := NewLive(admission.BuiltinResources())
	live.PutExceptions([]*exception.Exception{excepting(t, unchanged)})
	live.Put(compile(t, denyAndWarn))
	live.Publish()
	allowed := func(s *Snapshot) bool { return s.Validate(t.Context(), makeReview(t, pod), beforeExpiry).Allowed() }
	assert.True(t, allowed(live.Snapshot()))
	assert.True(t, allowed(live.With(compile(t, denyAndWarn))), "a candidate")
	live.Put(compile(t, denyAndWarn+" "))
	assert.True(t, allowed(live.Snapshot()), "after a push")
	digest := live.Snapshot().Digest()
	live.PutExceptions(nil)
	assert.False(t, allowed(live.Snapshot()))
	assert.Equal(t, digest, live.Snapshot().Digest(), "what is registered stays the same")
}

func TestExemptionTexts(t *testing.T) {
	t.Parallel()
	one := Finding{Policy: "p", Rule: "deny", Exception: "friday", Expires: expiry}
	other := one
	other.Rule = "warn"
	assert.Equal(t, []string{
		"PolicyException friday exempts this object from p deny until 2026-12-04T17:00:00Z",
		"PolicyException friday exempts this object from p warn until 2026-12-04T17:00:00Z",
	}, ExemptionTexts([]Finding{one, one, other}))
}
