package engine

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/clusterdata"
	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/hierarchy"
)

// scoped compiles one policy of a scope.
func scoped(t *testing.T, name string, scope hierarchy.Scope, rego string, change ...func(*definition.Source)) *PolicySet {
	t.Helper()
	source := definition.Source{Name: name, Scope: scope, Files: map[string]string{"policy.rego": rego}}
	for _, apply := range change {
		apply(&source)
	}
	return compileSource(t, source)
}

func scopeOf(level hierarchy.Level, name, parent string, namespaces ...string) hierarchy.Scope {
	return hierarchy.Scope{Level: level, Name: name, Parent: parent, Namespaces: namespaces}
}

func in(namespace string) string {
	return `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"web","namespace":"` + namespace + `","labels":{"app":"web"}},"spec":{"containers":[{"name":"c","image":"nginx"}],"priority":5}}`
}

const no = "package p\ndeny contains \"no\""

func TestScopesBindTheirNamespaces(t *testing.T) {
	snapshot := snapshotOf(
		scoped(t, "org", scopeOf(hierarchy.Org, "retail", "", "shop-*", "till"), "package org\nwarn contains \"org\""),
		scoped(t, "team", scopeOf(hierarchy.Team, "shop", "retail", "shop-*", "bank"), no),
	)
	for object, denied := range map[string]bool{
		in("shop-a"): true,
		in("till"):   false, // the org's, not the team's
		in("bank"):   false, // the team's, but not the org's
		in("other"):  false,
		`{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"shop-a"}}`:                             false,
		`{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRole","metadata":{"name":"shop-a"}}`: false,
	} {
		require.Equal(t, denied, !snapshot.Validate(t.Context(), makeReview(t, object), Options{}).Allowed(), object)
	}
	require.Equal(t, "team shop", snapshot.Tenant(makeReview(t, in("shop-a"))))
	require.Equal(t, "org retail", snapshot.Tenant(makeReview(t, in("till"))))
	require.Empty(t, snapshot.Tenant(makeReview(t, in("other"))))
}

func TestScopesReadTheirOwnNamespaces(t *testing.T) {
	cluster, err := clusterdata.New([]json.RawMessage{
		json.RawMessage(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","namespace":"shop-a"},"data":{"k":"mine"}}`),
		json.RawMessage(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"b","namespace":"bank"},"data":{"k":"theirs"}}`),
		json.RawMessage(`{"apiVersion":"v1","kind":"Secret","metadata":{"name":"s","namespace":"shop-a"}}`),
		json.RawMessage(`{"apiVersion":"v1","kind":"Node","metadata":{"name":"n"}}`),
	})
	require.NoError(t, err)
	requires := func(kind, read string) string {
		return "# METADATA\n# custom:\n#   requires: [{group: \"\", kind: " + kind + "}]\npackage p\ndeny contains json.marshal(" + read + ")"
	}
	team := scopeOf(hierarchy.Team, "shop", "", "shop-*")
	for name, c := range map[string]struct {
		rego   string
		grants hierarchy.Grants
		want   string
	}{
		"all of a kind":            {requires("ConfigMap", `data.cluster`), hierarchy.Grants{}, `{"ConfigMap":{"shop-a":{"a":`},
		"by iteration":             {requires("ConfigMap", `[ns | some ns, _ in data.cluster.ConfigMap]`), hierarchy.Grants{}, `["shop-a"]`},
		"another namespace":        {requires("ConfigMap", `[x | x := data.cluster.ConfigMap.bank.b.data.k]`), hierarchy.Grants{}, `[]`},
		"a computed namespace":     {requires("ConfigMap", `[x | x := data.cluster.ConfigMap[concat("", ["ba", "nk"])]]`), hierarchy.Grants{}, `[]`},
		"Secrets":                  {requires("Secret", `data.cluster.Secret`), hierarchy.Grants{}, "policy p cannot be evaluated: it requires Secret, which contains confidential data"},
		"Secrets that are granted": {requires("Secret", `[n | some n, _ in data.cluster.Secret["shop-a"]]`), hierarchy.Grants{Requires: []admission.GroupVersionKind{{Kind: "Secret"}}}, `["s"]`},
		"cluster-scoped":           {requires("Node", `data.cluster.Node`), hierarchy.Grants{}, "it requires Node, which is cluster-scoped"},
		"granted cluster-scoped":   {requires("Node", `[n | some n, _ in data.cluster.Node[""]]`), hierarchy.Grants{Requires: []admission.GroupVersionKind{{Kind: "Node"}}}, `["n"]`},
	} {
		t.Run(name, func(t *testing.T) {
			enterprise := scoped(t, "all", hierarchy.Scope{Level: hierarchy.Enterprise, Grants: c.grants}, "package all\nwarn contains \"x\"")
			snapshot := snapshotOf(enterprise, scoped(t, "team", team, c.rego))
			decision := snapshot.Validate(t.Context(), makeReview(t, in("shop-a")), Options{Cluster: cluster})
			require.Len(t, decision.Denials, 1)
			require.Contains(t, decision.Denials[0].Words, c.want)
			require.NotContains(t, decision.Denials[0].Words, "theirs")
			require.True(t, snapshot.Validate(t.Context(), makeReview(t, in("bank")), Options{Cluster: cluster}).Allowed())
		})
	}
}

func TestScopesReadTheClockWhereItIsGranted(t *testing.T) {
	const rego = "# METADATA\n# custom:\n#   clock: true\npackage p\ndeny contains \"late\" if time.now_ns() > 0"
	team := scoped(t, "team", scopeOf(hierarchy.Team, "shop", "", "shop"), rego)
	all := func(grants hierarchy.Grants) *PolicySet {
		return scoped(t, "all", hierarchy.Scope{Level: hierarchy.Enterprise, Grants: grants}, "package all\nwarn contains \"x\"")
	}
	words := func(sets ...*PolicySet) string {
		return snapshotOf(sets...).Validate(t.Context(), makeReview(t, in("shop")), Options{}).Denials[0].Words
	}
	require.Contains(t, words(team), "it reads the time")
	require.Contains(t, words(team, all(hierarchy.Grants{})), "it reads the time")
	require.Equal(t, "late", words(team, all(hierarchy.Grants{Clock: true})))
}

// An error of a parent denies with any failure policy; an error of a child denies only in its
// own scope.
func TestErrorsOfScopes(t *testing.T) {
	const broken = "package p\ndeny contains msg if {\n\tx := 1 / (count(input.request.object.spec.containers) - 1)\n\tmsg := sprintf(\"%d\", [x])\n}"
	ignore := func(s *definition.Source) { s.FailurePolicy = definition.Ignore }
	parent := scoped(t, "parent", hierarchy.Scope{Level: hierarchy.Enterprise}, broken, ignore)
	child := scoped(t, "child", scopeOf(hierarchy.Team, "shop", "", "shop"), "package q\nwarn contains \"x\"")
	validate := func(options Options, sets ...*PolicySet) *Decision {
		return snapshotOf(sets...).Validate(t.Context(), makeReview(t, in("shop")), options)
	}
	require.True(t, validate(Options{}, parent).Allowed(), "it is no parent yet")
	require.Contains(t, validate(Options{}, parent, child).Denials[0].Words, "divide by zero")
	require.False(t, validate(Options{FailurePolicy: definition.Fail}, parent, child).Allowed(), "it is registered to fail closed")
	require.False(t, validate(Options{FailurePolicy: definition.Ignore}, parent, child).Allowed(), "and asked where it was registered until now")

	child = scoped(t, "child", scopeOf(hierarchy.Team, "shop", "", "shop"), broken)
	require.False(t, validate(Options{}, child).Allowed())
	require.True(t, snapshotOf(child).Validate(t.Context(), makeReview(t, in("other")), Options{}).Allowed())
}

func TestPatchesOfScopes(t *testing.T) {
	const (
		set    = "package parent\npatch contains {\"op\": \"add\", \"path\": \"/spec/priority\", \"value\": 1} if not input.request.object.spec.priority"
		append = "package parent\npatch contains {\"op\": \"add\", \"path\": \"/spec/containers/-\", \"value\": {\"name\": \"guard\", \"image\": \"guard\"}} if {\n\tnot \"guard\" in {c.name | some c in input.request.object.spec.containers}\n}"
	)
	bare := strings.Replace(in("shop"), `,"priority":5`, "", 1)
	for name, c := range map[string]struct {
		parent, child, object string
		want                  string // in the child's denial; empty: it is admitted
	}{
		"another place": {set, "package c\npatch contains {\"op\": \"add\", \"path\": \"/metadata/labels/x\", \"value\": \"y\"} if not input.request.object.metadata.labels.x", bare, ""},
		"the same place in the same round": {
			set, "package c\npatch contains {\"op\": \"add\", \"path\": \"/spec/priority\", \"value\": 2} if not input.request.object.spec.priority", bare,
			"it changes /spec/priority, which policy parent of source all",
		},
		"in a later round": {
			set, "package c\npatch contains {\"op\": \"add\", \"path\": \"/spec/priority\", \"value\": 2} if input.request.object.spec.priority == 1", bare,
			"it changes /spec/priority, which policy parent of source all (patch at policy.rego:2) sets",
		},
		"when the webhook is called again": {
			set, "package c\npatch contains {\"op\": \"replace\", \"path\": \"/spec/priority\", \"value\": 2} if input.request.object.spec.priority == 5", in("shop"),
			"it changes /spec/priority, which policy parent of source all (patch at policy.rego:2) sets where it is absent",
		},
		"by a computed path, with a decoy": {
			set, `package c
patch contains [
	{"op": "replace", "path": concat("/", ["", "spec", "priority"]), "value": 2},
	{"op": "replace", "path": "/metadata/labels/app", "value": "y"},
] if input.request.object.spec.priority == 5`, in("shop"),
			"it changes /spec/priority",
		},
		"above it": {
			set, "package c\npatch contains {\"op\": \"replace\", \"path\": \"/spec\", \"value\": {\"containers\": []}} if input.request.object.spec.priority", in("shop"),
			"it changes /spec, which policy parent",
		},
		"what was appended": {
			append, "package c\npatch contains {\"op\": \"replace\", \"path\": sprintf(\"/spec/containers/%d/image\", [i]), \"value\": \"evil\"} if {\n\tsome i, c in input.request.object.spec.containers\n\tc.image == \"guard\"\n}", in("shop"),
			"it changes /spec/containers/1/image, which policy parent",
		},
		"beside what was appended": {
			append, "package c\npatch contains {\"op\": \"add\", \"path\": \"/spec/containers/0/tty\", \"value\": true} if not input.request.object.spec.containers[0].tty", in("shop"), "",
		},
		"appended beside it": {
			append, "package c\npatch contains {\"op\": \"add\", \"path\": \"/spec/containers/-\", \"value\": {\"name\": \"mine\"}} if {\n\tnot \"mine\" in {c.name | some c in input.request.object.spec.containers}\n}", in("shop"), "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			snapshot := snapshotOf(
				scoped(t, "all", hierarchy.Scope{Level: hierarchy.Enterprise}, c.parent),
				scoped(t, "team", scopeOf(hierarchy.Team, "shop", "", "shop"), c.child),
			)
			mutation := snapshot.Mutate(t.Context(), makeReview(t, c.object), Options{})
			if c.want == "" {
				require.Empty(t, textsOf(mutation.Denials))
				require.NotEmpty(t, mutation.Patch)
				require.True(t, snapshot.Validate(t.Context(), mutation.Review, Options{}).Allowed())
				return
			}
			require.Len(t, mutation.Denials, 1)
			require.Equal(t, "c", mutation.Denials[0].Policy)
			require.Contains(t, mutation.Denials[0].Words, c.want)
		})
	}
}

func TestTheStoredObjectIsAsItsParentsLeaveIt(t *testing.T) {
	parent := scoped(t, "all", hierarchy.Scope{Level: hierarchy.Enterprise}, "package parent\npatch contains {\"op\": \"add\", \"path\": \"/spec/priority\", \"value\": 1} if not input.request.object.spec.priority == 1")
	child := scoped(t, "team", scopeOf(hierarchy.Team, "shop", "", "shop"), "package c\nwarn contains \"x\"")
	snapshot := snapshotOf(parent, child)
	decision := snapshot.Validate(t.Context(), makeReview(t, in("shop")), Options{})
	require.Equal(t, []string{"policy parent sets /spec/priority, and the object that is to be stored differs: it was changed again after the policy had set it; leave it as it was set"}, wordsOf(decision.Denials))
	mutated := snapshot.Mutate(t.Context(), makeReview(t, in("shop")), Options{})
	require.True(t, snapshot.Validate(t.Context(), mutated.Review, Options{}).Allowed())
	require.True(t, snapshot.Validate(t.Context(), makeReview(t, in("other")), Options{}).Allowed(), "no scope below has that namespace")
	require.True(t, snapshotOf(parent).Validate(t.Context(), makeReview(t, in("shop")), Options{}).Allowed(), "it has no scope below")
}

func wordsOf(findings []Finding) []string {
	out := []string{}
	for _, f := range findings {
		out = append(out, f.Words)
	}
	return out
}

// TestStepsOfASource: all policies of a source below the enterprise share them.
func TestStepsOfASource(t *testing.T) {
	e := newEvaluation(makeReview(t, in("shop")), Options{})
	set := scoped(t, "team", scopeOf(hierarchy.Team, "shop", "", "shop"), no)
	below := policiesOf(set, newSource(set, hierarchy.Place{Below: true}))[0]
	asked := func(p *policy) (asked bool, err evalError) {
		runGuarded(invocation{policy: p, evaluation: e}, func(invocation) int { asked = true; return 0 }, func(_ invocation, failure evalError) int { err = failure; return 0 })
		return asked, err
	}
	ok, _ := asked(below)
	require.True(t, ok)
	e.usage.bySource["team"] = sourceSteps
	ok, err := asked(below)
	require.False(t, ok)
	require.Equal(t, "source", err.limit)
	require.Contains(t, err.message, "all that a source below the enterprise has")
	ok, _ = asked(policiesIn(scoped(t, "team", hierarchy.Scope{}, no))[0])
	require.True(t, ok, "the enterprise's are only bounded one by one")
	require.Zero(t, e.usage.bySource["other"])
}

// TestScopesDoNotHoldUpKubernetes: a team whose policy denies all deletions would otherwise
// keep its namespace terminating forever, and Pods on nodes that are drained.
func TestScopesDoNotHoldUpKubernetes(t *testing.T) {
	const (
		denies   = "# METADATA\n# custom:\n#   match: {operations: [CREATE, UPDATE, DELETE], subresources: [\"*\"], expand: deny}\npackage p\ndeny contains \"no\""
		account  = "system:serviceaccount:kube-system:"
		workload = `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"a","namespace":"shop"},"spec":{"template":{"spec":{"containers":[]}}}}`
	)
	team := scoped(t, "team", scopeOf(hierarchy.Team, "shop", "", "shop"), denies)
	by := func(user string) reviewOption { return field("userInfo", map[string]any{"username": user}) }
	orphaned := func(r map[string]any) {
		r["operation"], r["oldObject"] = "UPDATE", json.RawMessage(strings.Replace(workload, `"name"`, `"ownerReferences":[{"uid":"1"}],"name"`, 1))
	}
	for name, c := range map[string]struct {
		review *admission.Review
		exempt bool
	}{
		"the namespace controller":    {makeReview(t, in("shop"), operation("DELETE"), by(account+"namespace-controller")), true},
		"the garbage collector":       {makeReview(t, workload, orphaned, by(account+"generic-garbage-collector")), true},
		"one user of all controllers": {makeReview(t, workload, orphaned, by("system:kube-controller-manager")), true},
		"an eviction":                 {makeReview(t, in("shop"), field("subResource", "eviction"), by("system:kube-scheduler")), true},
		"a user's eviction":           {makeReview(t, in("shop"), field("subResource", "eviction"), by("jane")), false},
		"a user's deletion":           {makeReview(t, in("shop"), operation("DELETE"), by("jane")), false},
		"a user's update":             {makeReview(t, workload, orphaned, by("jane")), false},
		"a controller's creation":     {makeReview(t, in("shop"), by("system:kube-controller-manager")), false},
	} {
		t.Run(name, func(t *testing.T) {
			allowed := func(sets ...*PolicySet) bool {
				return snapshotOf(sets...).Validate(t.Context(), c.review, Options{}).Allowed()
			}
			require.Equal(t, c.exempt, allowed(team))
			require.Equal(t, c.exempt, allowed(scoped(t, "org", scopeOf(hierarchy.Org, "retail", "", "shop"), denies)))
			require.False(t, allowed(scoped(t, "all", hierarchy.Scope{}, denies)), "the enterprise decides about all requests")
			require.False(t, allowed(scoped(t, "all", hierarchy.Scope{}, denies), scoped(t, "team", scopeOf(hierarchy.Team, "shop", "", "shop"), "package q\nwarn contains \"x\"")))
			explained := snapshotOf(team).Explain(t.Context(), c.review, Options{})[0]
			require.Equal(t, c.exempt, explained.Answer == AnswerNotMatched)
			require.Equal(t, c.exempt, strings.Contains(explained.Reason, "policies below the enterprise are not evaluated for it"), explained.Reason)
		})
	}
}

func TestScopesDoNotHoldUpLintel(t *testing.T) {
	denies := "# METADATA\n# custom:\n#   match: {expand: deny}\npackage p\ndeny contains \"no\""
	review := makeReview(t, in("shop"))
	own := Options{Own: func(one *admission.Review) bool { return one == review }}
	team := snapshotOf(scoped(t, "team", scopeOf(hierarchy.Team, "shop", "", "shop"), denies))
	require.True(t, team.Validate(t.Context(), review, own).Allowed())
	require.False(t, team.Validate(t.Context(), makeReview(t, in("shop")), own).Allowed())
	require.False(t, snapshotOf(scoped(t, "all", hierarchy.Scope{}, denies)).Validate(t.Context(), review, own).Allowed())
}
