//go:build !race

// Nothing here runs in two goroutines: the race detector would only make it slow.

package engine

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/hierarchy"
	"github.com/lintel-policy/lintel/policies/jsonpatch"
	"github.com/lintel-policy/lintel/policies/policyset"
)

func TestExplainNamesTheCondition(t *testing.T) {
	const deployment = `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web","namespace":"shop"},"spec":{"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[]}}}}`
	const node = `{"apiVersion":"v1","kind":"Node","metadata":{"name":"n1"}}`
	silver := Options{Namespace: readNamespace(t, `{"metadata":{"name":"shop","labels":{"tier":"silver"}}}`)}
	for name, c := range map[string]struct {
		match   string
		object  string
		change  []reviewOption
		options Options
		answer  Answer
		reason  string
	}{
		"asked":              {`{kinds: [{group: "", kind: Pod}]}`, pod, nil, Options{}, AnswerAsked, ""},
		"kind":               {`{kinds: [{group: "", kind: Service}, {group: apps, kind: Deployment}]}`, pod, nil, Options{}, AnswerNotMatched, "kinds: Pod is not one of Service, Deployment.apps"},
		"kind hides others":  {`{kinds: [{group: "", kind: Service}], operations: [DELETE]}`, pod, nil, Options{}, AnswerNotMatched, "kinds: Pod is not one of Service"},
		"template":           {`{kinds: [{group: "", kind: Pod}]}`, deployment, nil, Options{}, AnswerNotMatched, "kinds: Deployment.apps is not one of Pod; match.expand would make it review the Pod template"},
		"template, asked":    {`{kinds: [{group: "", kind: Pod}], expand: deny}`, deployment, nil, Options{}, AnswerAsked, ""},
		"operation":          {`{operations: [DELETE]}`, pod, nil, Options{}, AnswerNotMatched, "operations: CREATE is not one of DELETE"},
		"default operations": {`{kinds: []}`, pod, []reviewOption{operation("DELETE")}, Options{}, AnswerNotMatched, "operations: DELETE is not one of CREATE, UPDATE"},
		"subresource":        {`{subresources: [scale]}`, pod, []reviewOption{field("subResource", "exec")}, Options{}, AnswerNotMatched, "subresources: subresource exec is not one of scale"},
		"no subresources":    {`{kinds: []}`, pod, []reviewOption{field("subResource", "exec")}, Options{}, AnswerNotMatched, "subresources: subresource exec is not one of none"},
		"namespaces":         {`{namespaces: [a, "b*"]}`, pod, nil, Options{}, AnswerNotMatched, `namespaces: namespace "shop" is not one of a, b*`},
		"in no namespace":    {`{namespaces: ["*"]}`, node, nil, Options{}, AnswerNotMatched, `namespaces: an object without a namespace is not one of *`},
		"excluded":           {`{excludedNamespaces: [a, "sh*"]}`, pod, nil, Options{}, AnswerNotMatched, `excludedNamespaces: namespace "shop" is excluded by sh*`},
		"objectSelector":     {`{objectSelector: {matchLabels: {app: db}}}`, pod, nil, Options{}, AnswerNotMatched, "objectSelector: the labels of the object (app=web) do not meet app=db"},
		"namespaceSelector":  {`{namespaceSelector: {matchLabels: {tier: gold}}}`, pod, nil, silver, AnswerNotMatched, `namespaceSelector: the labels of namespace "shop" (tier=silver) do not meet tier=gold`},
		"namespace unknown":  {`{namespaceSelector: {matchLabels: {tier: gold}}}`, pod, nil, Options{Offline: true}, AnswerCannotBeAsked, `: its namespaceSelector needs the labels of namespace "shop"`},
		"unknown, online":    {`{namespaceSelector: {matchLabels: {tier: gold}}}`, pod, nil, Options{}, AnswerCannotBeAsked, `: policy p cannot be evaluated: its namespaceSelector needs the labels of namespace "shop"`},
		"version":            {`{kinds: [{group: "", version: v2, kind: Pod}]}`, pod, nil, Options{Offline: true}, AnswerCannotBeAsked, "it is written for another version of Pod than v1"},
	} {
		t.Run(name, func(t *testing.T) {
			snapshot := snapshotOf(compile(t, "# METADATA\n# custom:\n#   match: "+c.match+"\npackage p\ndeny contains \"x\""))
			found := snapshot.Explain(t.Context(), makeReview(t, c.object, c.change...), c.options)
			one := found[len(found)-1]
			require.Equal(t, c.answer, one.Answer)
			require.Contains(t, one.Condition+": "+one.Reason, c.reason)
			require.Equal(t, c.answer == AnswerAsked, len(one.Decision.Denials) == 1 && one.Reason == "")
		})
	}
}

func TestExplainOutsideTheScope(t *testing.T) {
	set, err := policyset.Compile(definition.Source{Name: "s", Files: map[string]string{"p.rego": "package p\ndeny contains \"x\""}, Scope: hierarchy.Scope{Level: hierarchy.Team, Name: "a", Namespaces: []string{"a-*"}}})
	require.NoError(t, err)
	found := snapshotOf(set).Explain(t.Context(), makeReview(t, pod), Options{})
	require.Equal(t, `namespace "shop" is outside team a of its source (a-*)`, found[0].Reason)
}

func TestExplainMutation(t *testing.T) {
	const rego = "package p\npatch contains {\"op\": \"add\", \"path\": \"/metadata/labels/x\", \"value\": 1}\ndefaults := {\"spec\": {\"nodeName\": \"n\"}}"
	snapshot := snapshotOf(compile(t, rego))
	found := snapshot.ExplainMutation(t.Context(), makeReview(t, pod), Options{})
	require.Len(t, found, 1)
	require.Equal(t, AnswerAsked, found[0].Answer)
	require.Equal(t, []jsonpatch.Operation{{Op: "add", Path: "/metadata/labels/x", Value: []byte("1")}, {Op: "add", Path: "/spec/nodeName", Value: []byte(`"n"`)}}, found[0].Changes)

	found = snapshot.ExplainMutation(t.Context(), makeReview(t, pod, operation("UPDATE")), Options{})
	require.Equal(t, AnswerNotMatched, found[0].Answer)
	require.Equal(t, "UPDATE is not one of CREATE", found[0].Reason)
}

// TestExplainAgreesWithValidateAndMutate on random matches: the evaluated policies, and
// their results.
func TestExplainAgreesWithValidateAndMutate(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 14))
	objects := []string{
		pod,
		`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"db","namespace":"data","labels":{"app":"db"}},"spec":{}}`,
		`{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web","namespace":"shop","labels":{"app":"web"}},"spec":{"template":{"metadata":{"labels":{"app":"db"}},"spec":{"containers":[]}}}}`,
		`{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"shop","labels":{"tier":"gold"}}}`,
		`{"apiVersion":"v1","kind":"Node","metadata":{"name":"n1","labels":{"app":"web"}}}`,
	}
	pick := func(choices ...string) string { return choices[random.IntN(len(choices))] }
	asked := map[Answer]int{}
	for range 150 {
		var sets []*PolicySet
		for i := range 4 {
			match := strings.Join(slices.DeleteFunc([]string{
				pick("", "", `kinds: [{group: "", kind: Pod}]`, `kinds: [{group: "*", kind: "*"}]`, `kinds: [{group: apps, kind: Deployment}]`, `kinds: [{group: "", kind: Pod}], expand: deny`, `kinds: [{group: "", version: v2, kind: Pod}]`),
				pick("", "operations: [CREATE]", "operations: [CREATE, UPDATE, DELETE]"),
				pick("", "", "namespaces: [shop]", `namespaces: ["d*"]`),
				pick("", "", "excludedNamespaces: [shop]"),
				pick("", "subresources: [scale]"),
				pick("", "", "objectSelector: {matchLabels: {app: web}}"),
				pick("", "", "namespaceSelector: {matchLabels: {tier: gold}}"),
			}, func(part string) bool { return part == "" }), ", ")
			source := definition.Source{Name: fmt.Sprint("s", i), Files: map[string]string{"p.rego": fmt.Sprintf(
				"# METADATA\n# custom:\n#   match: {%s}\n#   enforcement: %s\npackage p%d\ndeny contains \"denied\"\nwarn contains \"warned\"\npatch contains {\"op\": \"add\", \"path\": \"/metadata/annotations/p%d\", \"value\": \"x\"}",
				match, pick("deny", "warn", "audit"), i, i)}}
			if random.IntN(3) == 0 {
				source.Scope = hierarchy.Scope{Level: hierarchy.Team, Name: fmt.Sprint("t", i), Namespaces: []string{pick("shop", "d*", "other")}}
			}
			set, err := policyset.Compile(source)
			require.NoError(t, err)
			sets = append(sets, set)
		}
		snapshot := snapshotOf(sets...)
		var change []reviewOption
		change = append(change, operation(pick("CREATE", "UPDATE", "DELETE")))
		if random.IntN(4) == 0 {
			change = append(change, field("subResource", pick("scale", "status")))
		}
		review := makeReview(t, pick(objects...), change...)
		options := Options{Offline: random.IntN(2) == 0}
		if random.IntN(2) == 0 {
			options.Namespace = readNamespace(t, `{"metadata":{"name":"shop","labels":{"tier":"`+pick("gold", "silver")+`"}}}`)
		}

		decision := snapshot.Validate(t.Context(), review, options)
		explained := snapshot.Explain(t.Context(), review, options)
		sum := &Decision{}
		for _, one := range explained {
			asked[one.Answer]++
			sum.add(&one.Decision)
			require.Equal(t, one.Answer == AnswerAsked, one.Decision.Policies == 1, one)
			require.Equal(t, one.Answer == AnswerNotMatched, one.Condition != "", one)
			require.Equal(t, one.Answer == AnswerAsked, one.Reason == "", one)
		}
		e := newEvaluation(review, options)
		if !review.OnlyRemovesFinalizers() && snapshot.Concerns(review) {
			sum.add(snapshot.verifyFixpoint(t.Context(), e)) // not of a single policy
		}
		require.Equal(t, decision.Policies, sum.Policies)
		sum.sort()
		require.ElementsMatch(t, decision.Denials, sum.Denials)
		require.ElementsMatch(t, decision.Warnings, sum.Warnings)
		require.ElementsMatch(t, decision.Audits, sum.Audits)
		require.ElementsMatch(t, decision.Undecided, sum.Undecided)

		mutation := snapshot.Mutate(t.Context(), review, options)
		explained = snapshot.ExplainMutation(t.Context(), review, options)
		var failed bool
		var changes []string
		for _, one := range explained {
			failed = failed || len(one.Decision.Denials) > 0
			for _, op := range one.Changes {
				changes = append(changes, op.Path)
			}
		}
		require.Equal(t, failed, !mutation.Allowed())
		if mutation.Allowed() {
			var paths []string
			for _, op := range mutation.Patch {
				paths = append(paths, op.Path)
			}
			paths = slices.DeleteFunc(paths, func(path string) bool { return strings.Count(path, "/") < 3 }) // new parents
			require.ElementsMatch(t, paths, changes)
		}
	}
	for _, answer := range []Answer{AnswerAsked, AnswerNotMatched, AnswerCannotBeAsked} {
		require.Greater(t, asked[answer], 10, answer)
	}
}

// TestExplainRules: of each rule, which of its conditions held.
func TestExplainRules(t *testing.T) {
	for name, c := range map[string]struct {
		rule string
		want string // line, outcome and text of each condition
	}{
		"gave":            {"deny contains \"x\" if {\n\tinput.name == \"web\"\n\tinput.kind\n}", "gave; 4 held: input.name == \"web\"; 5 held: input.kind"},
		"the second":      {"deny contains \"x\" if {\n\tinput.name\n\tsome c in input.request.object.spec.containers\n\tc.image == \"a\"\n\tinput.kind\n}", "4 held: input.name; 5 held: some c in input.request.object.spec.containers; 6 did not hold: c.image == \"a\"; 7 not reached: input.kind"},
		"undefined":       {"deny contains \"x\" if {\n\tinput.request.object.spec.nodeName\n\tinput.kind\n}", "4 did not hold: input.request.object.spec.nodeName; 5 not reached: input.kind"},
		"not":             {"deny contains \"x\" if {\n\tinput.kind\n\tnot input.name\n}", "4 held: input.kind; 5 did not hold: not input.name"},
		"looked at first": {"deny contains \"x\" if {\n\tsome c in input.request.object.spec.containers\n\tinput.name == \"other\"\n}", "4 not reached: some c in input.request.object.spec.containers; 5 did not hold: input.name == \"other\""},
		"a helper":        {"helper if input.name == \"other\"\ndeny contains \"x\" if {\n\tinput.kind\n\thelper\n}", "5 held: input.kind; 6 did not hold: helper"},
		"every":           {"deny contains \"x\" if {\n\tevery c in input.request.object.spec.containers { c.image == \"a\" }\n}", "4 did not hold: every c in input.request.object.spec.containers { c.image == \"a\" }"},
		"over lines":      {"deny contains \"x\" if {\n\tcount([c |\n\t\tsome c in input.request.object.spec.containers\n\t]) > 3\n}", "4 did not hold: count([c |\n\t\tsome c in input.request.object.spec.containers\n\t]) > 3"},
		"put in order":    {"deny contains \"x\" if {\n\tsome x\n\tnot input.labels[x]\n\tx = input.other\n\tinput.kind\n}", "5 not reached: not input.labels[x]; 6 did not hold: x = input.other; 7 not reached: input.kind"},
	} {
		t.Run(name, func(t *testing.T) {
			set, err := policyset.CompileForTest(definition.Source{Name: "test", Files: map[string]string{"policy.rego": "package p\n\n" + c.rule}})
			require.NoError(t, err)
			found := snapshotOf(set).Explain(t.Context(), makeReview(t, `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"web","namespace":"shop"},"spec":{"containers":[{"name":"c","image":"b"}]}}`), Options{})
			require.Len(t, found[0].Rules, 1)
			var got []string
			if found[0].Rules[0].Gave {
				got = append(got, "gave")
			}
			for _, condition := range found[0].Rules[0].Conditions {
				got = append(got, fmt.Sprintf("%d %s: %s", condition.Location.Line, condition.Outcome, condition.Text))
			}
			require.Equal(t, c.want, strings.Join(got, "; "))
		})
	}
}
