package engine

import (
	"bytes"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// remembering is a snapshot with a memo.
func remembering(t *testing.T, mode MemoMode, sets ...*PolicySet) (*Snapshot, *Memo) {
	t.Helper()
	memo := NewMemo(mode, 0, nil)
	return snapshotOf(sets...).Remembering(memo), memo
}

const imagePolicy = `package images

import rego.v1

deny contains msg if {
	some container in input.request.object.spec.containers
	not startswith(container.image, "registry/")
	msg := sprintf("%v of %v", [container.name, input.request.object.metadata.name])
}`

func podWith(name, spec string) string {
	return fmt.Sprintf(`{"apiVersion":"v1","kind":"Pod","metadata":{"name":%q,"namespace":"shop"},"spec":%s}`, name, spec)
}

func imagePod(name, image string) string {
	return podWith(name, fmt.Sprintf(`{"containers":[{"name":"c","image":%q}]}`, image))
}

// ask asks about an object three times: a verdict is remembered the second time.
func ask3(t *testing.T, s *Snapshot, object string, options ...reviewOption) {
	t.Helper()
	for range 3 {
		s.Validate(t.Context(), makeReview(t, object, options...), Options{})
	}
}

func TestMemoHitsReplicas(t *testing.T) {
	s, memo := remembering(t, MemoOn, compile(t, imagePolicy))
	for i := range 10 {
		decision := s.Validate(t.Context(), makeReview(t, imagePod(fmt.Sprintf("web-%d", i), "registry/web")), Options{})
		require.True(t, decision.Allowed())
		require.Equal(t, 1, decision.Policies)
	}
	require.Equal(t, uint64(8), memo.Stats().Hits, "all but the first, and the second that is remembered")
	require.Equal(t, uint64(2), memo.Stats().Misses)
	require.Equal(t, []string{"c of web-11" + suffixOf(s.policies[0].set, "images", "deny", 5)},
		denials(s.Validate(t.Context(), makeReview(t, imagePod("web-11", "docker.io/web")), Options{})))
}

// TestMemoKeepsApart asks about an object, and then about another that the policy tells
// from it, although it is nearly the same.
func TestMemoKeepsApart(t *testing.T) {
	for name, test := range map[string]struct {
		rule, silent, denied string
		operation            string
	}{
		"number and text":               {`is_string(input.request.object.spec.a)`, `{"a": 1}`, `{"a": "1"}`, ""},
		"missing and null":              {`object.get(input.request.object.spec, "a", "none") == null`, `{}`, `{"a": null}`, ""},
		"false and missing":             {`input.request.object.spec.a == false`, `{}`, `{"a": false}`, ""},
		"false and true":                {`input.request.object.spec.a`, `{"a": false}`, `{"a": true}`, ""},
		"where a list ends":             {`count(input.request.object.spec.a) == 2`, `{"a": [["b", "c"]]}`, `{"a": ["b", "c"]}`, ""},
		"where a text ends":             {`input.request.object.spec.b == "y"`, `{"a": "x\"y", "b": "z"}`, `{"a": "x", "b": "y"}`, ""},
		"names of members":              {`some k, _ in input.request.object.spec; k == "evil"`, `{"good": 1}`, `{"evil": 1}`, ""},
		"a list and an object":          {`is_array(input.request.object.spec.a)`, `{"a": {"0": 1}}`, `{"a": [1]}`, ""},
		"whole input to a function":     {`f(input)`, `{"deep": {"er": 1}}`, `{"deep": {"er": 2}}`, ""},
		"under with":                    {`g with input as {"request": {"object": {"spec": {"a": input.request.object.spec.b}}}}`, `{"b": "good"}`, `{"b": "bad"}`, ""},
		"a text in a message's place":   {`x := sprintf("%v", [input.request.object.spec.a]); x == "bad"`, `{"a": "good"}`, `{"a": "bad"}`, ""},
		"a message that may be missing": {`x := sprintf("%v", [input.request.object.spec.a])`, `{}`, `{"a": 1}`, ""},
		"a key from the object":         {`spec.map[spec.key] == "bad"`, `{"key": "a", "map": {"a": 1, "b": "bad"}}`, `{"key": "b", "map": {"a": 1, "b": "bad"}}`, ""},
		"a rule with two values":        {`either.x == 2`, `{"a": {"x": 1, "y": 1}, "b": {"x": 1, "y": 1}}`, `{"a": {"x": 1, "y": 1}, "b": {"x": 1, "y": 2}}`, ""},
		"the order of a set":            {`[c.name | some c in list][0] == "bad"`, `{"list": [{"A": 1, "name": "x"}, {"A": 2, "name": "bad"}]}`, `{"list": [{"A": 2, "name": "x"}, {"A": 1, "name": "bad"}]}`, ""},
		"the number of a set":           {`count([1 | some c in list; c.name == "x"]) == 1`, `{"list": [{"A": 1, "name": "x"}, {"A": 2, "name": "x"}]}`, `{"list": [{"A": 1, "name": "x"}, {"A": 1, "name": "x"}]}`, ""},
		"one variable twice":            {`[x, x] = spec.a`, `{"a": [1, 2]}`, `{"a": [1, 1]}`, ""},
		"one index twice":               {`spec.a[i] == spec.b[i]`, `{"a": [1, 2], "b": [2, 1]}`, `{"a": [1, 2], "b": [2, 2]}`, ""},
		"a name in two bodies":          {`count({n | n = "a"}) == 1; "bad" in {o | spec.map[n]; o = spec.other[n]}`, `{"map": {"b": 1}, "other": {"b": "x"}}`, `{"map": {"b": 1}, "other": {"b": "bad"}}`, ""},
		"every member":                  {`every c in spec.list { c.bad }`, `{"list": [{"bad": true}, {"bad": false}]}`, `{"list": [{"bad": true}, {"bad": true}]}`, ""},
		"walking":                       {`walk(spec, [_, "bad"])`, `{"a": {"b": ["x"]}}`, `{"a": {"b": ["bad"]}}`, ""},
		"the rest of a function":        {`rest(spec) == 2`, `{"a": 1, "b": 1}`, `{"b": 1}`, ""},
		"a default of a function":       {`ok(spec) == false`, `{"a": 1}`, `{}`, ""},
		"a function with a constant":    {`at(spec, "b") == "bad"; at(spec, "a")`, `{"a": 1, "b": 1}`, `{"a": 1, "b": "bad"}`, ""},
		"a part of an object":           {`json.filter(spec, ["a/b"]) == {"a": {"b": "bad"}}`, `{"a": {"b": 1}}`, `{"a": {"b": "bad"}}`, ""},
		"a path with a fallback":        {`object.get(spec, ["a", "b"], "bad") == "bad"`, `{"a": {"b": 1}}`, `{"a": {}}`, ""},
		"one field under with":          {`g with input.request.object.spec.a as spec.b`, `{"b": "good"}`, `{"b": "bad"}`, ""},
		"another operation":             {`input.request.operation == "UPDATE"`, `{}`, `{}`, "UPDATE"},
	} {
		t.Run(name, func(t *testing.T) {
			set := compile(t, `package p

import rego.v1

f(x) if x.request.object.spec.deep.er == 2

g if input.request.object.spec.a == "bad"

spec := input.request.object.spec

either := spec.a

either := spec.b

list contains c if some c in spec.list

rest(x) := 1 if x.a else := 2 if x.b

default ok(_) := false

ok(x) if x.a

at(x, field) := x[field]

deny contains "no" if { `+test.rule+` }`)
			s, memo := remembering(t, MemoOn, set)
			ask3(t, s, podWith("x", test.silent))
			require.Equal(t, uint64(1), memo.Stats().Hits)
			options := []reviewOption{}
			if test.operation != "" {
				options = append(options, operation(test.operation))
			}
			for range 2 {
				require.Len(t, s.Validate(t.Context(), makeReview(t, podWith("x", test.denied), options...), Options{}).Denials, 1)
			}
		})
	}
}

// TestKeysAreCanonical writes values that must not have the same key, and some that must.
func TestKeysAreCanonical(t *testing.T) {
	key := func(text string) string {
		term, err := decodeJSON([]byte(text))
		require.NoError(t, err)
		w := &keyWriter{}
		w.value(term.Value)
		return string(w.bytes)
	}
	require.Equal(t, key(`{"a": 1, "b": {"c": [], "d": null}}`), key(`{"b": {"d": null, "c": []}, "a": 1}`))
	seen := map[string]string{}
	for _, text := range []string{
		"1", "1.0", "1e0", "10", `"1"`, "null", "true", "false", "[]", "{}", `""`, `"null"`, `["a", "b"]`, `["ab"]`, `[["a"], "b"]`, `[["a", "b"]]`,
		`{"a": "b"}`, `{"a": {"b": 1}}`, `{"a": {}, "b": 1}`, `["a", {"b": 1}]`, `[[], []]`, `[[[]]]`, `"a\"b"`, `["a", null]`, `["a"]`,
	} {
		require.Empty(t, seen[key(text)], text)
		seen[key(text)] = text
	}
}

func TestMemoIgnoresOrderOfFields(t *testing.T) {
	s, memo := remembering(t, MemoOn, compile(t, `package p

import rego.v1

deny contains "no" if count(input.request.object.spec) > 3`))
	ask3(t, s, podWith("x", `{"a": 1, "b": {"c": 1, "d": 2}}`))
	s.Validate(t.Context(), makeReview(t, podWith("x", `{"b": {"d": 2, "c": 1}, "a": 1}`)), Options{})
	require.Equal(t, uint64(2), memo.Stats().Hits)
}

// TestMemoReadsWhatRulesSay asks for rules that are no sets: some of their values say
// nothing.
func TestMemoReadsWhatRulesSay(t *testing.T) {
	for _, rule := range []string{"warn := input.request.object.spec.a", `warn := sprintf("%v", [input.request.object.spec.a])`, "warn contains input.request.object.spec.a"} {
		s, _ := remembering(t, MemoOn, compile(t, "package p\n\nimport rego.v1\n\n"+rule))
		quiet := `{"a": ""}`
		if strings.Contains(rule, "contains") {
			quiet = `{"a": false}`
		}
		ask3(t, s, podWith("x", quiet))
		require.Len(t, s.Validate(t.Context(), makeReview(t, podWith("x", `{"a": "hm"}`)), Options{}).Warnings, 1, rule)
	}
}

func TestMemoRemembersOnlySilence(t *testing.T) {
	for name, rule := range map[string]string{
		"denial":  `deny contains "no"`,
		"warning": `warn contains "hm"`,
		"error":   `deny contains "no" if to_number(input.request.object.metadata.name) > 1`,
		"clock":   `deny contains "no" if time.now_ns() < 0`,
	} {
		t.Run(name, func(t *testing.T) {
			s, memo := remembering(t, MemoOn, compile(t, "# METADATA\n# custom:\n#   clock: true\npackage p\n\nimport rego.v1\n\n"+rule))
			if name != "clock" {
				s, memo = remembering(t, MemoOn, compile(t, "package p\n\nimport rego.v1\n\n"+rule))
			}
			ask3(t, s, pod)
			require.Zero(t, memo.Stats().Hits)
			require.Zero(t, memo.Stats().Entries)
		})
	}
}

// TestSharedObjectsAreReadWhole: those of rules at constant and at variable keys.
func TestSharedObjectsAreReadWhole(t *testing.T) {
	const all = `p[k] := input.request.object.map if k := "a"`
	for _, c := range []struct {
		rules, asked string
		whole        bool
	}{
		{"p.a := input.request.object.map", "p.a.c", false},
		{all, "p.a.c", false},
		{all + "\np.b := 1", "p.a.c", true},
		{`p[k].b := input.request.object.map if k := "a"`, "p.a.b.c", false},
		{`p[k].b := input.request.object.map if k := "a"` + "\np.x.b := 1", "p.a.b.c", true},
		{"p.a[1] := input.request.object.map\np.b[k] := 3 if k := 1", "p.a[1].c", false},
		{"p.a[1] := input.request.object.map\np.a[1.0] := 3", "p.a[1].c", true},
	} {
		s := snapshotOf(compile(t, "package p\n\nimport rego.v1\n\n"+c.rules+"\n\ndeny contains \"no\" if input.request.object.x == "+c.asked))
		reads := s.Reads("CREATE")[0]
		require.Empty(t, reads.Reason)
		require.Equal(t, c.whole, slices.Contains(reads.Paths, "request.object.map"), "%s: %s", c.rules, reads.Paths)
	}
}

// TestPlansAreReady: what was asked for is derived before a new snapshot serves, and for
// all operations at once where they make no difference.
func TestPlansAreReady(t *testing.T) {
	before, memo := remembering(t, MemoOn, compile(t, imagePolicy))
	ask3(t, before, pod)
	require.Len(t, before.memory.plans, 1)
	after := snapshotOf(compile(t, imagePolicy)).Remembering(memo)
	require.Equal(t, before.memory.planned(), after.memory.planned())
	require.NotNil(t, after.policies[0].known.all)

	asking, _ := remembering(t, MemoOn, compile(t, `package p

import rego.v1

deny contains "no" if { input.request.operation == "UPDATE"; input.request.object.bad }`))
	require.NotContains(t, asking.Reads("CREATE")[0].Paths, "request.object.bad")
	require.Contains(t, strings.Join(asking.Reads("UPDATE")[0].Paths, " "), "request.object.bad")
	require.Nil(t, asking.policies[0].known.all)
}

// TestDerivationsEnd: what grows with every pass is given up in time.
func TestDerivationsEnd(t *testing.T) {
	chain := "r0 := input.request.object.f\n"
	for i := range 500 {
		chain += fmt.Sprintf("r%d := r%d\n", i+1, i)
	}
	ways := "r0 := input.request.object.f\n"
	for i := range 40 {
		ways += fmt.Sprintf("r%d := r%d if input.request.object.g%d else := r%d\n", i+1, i, i, i)
	}
	for name, rules := range map[string]string{
		"a long chain":    chain + `deny contains "no" if r500 == 1`,
		"a chain of ways": ways + `deny contains "no" if r40 == 1`,
		"a function that hands on what it takes apart": `f(arg) := arg.a if { arg.b.c.name } else := arg.list if { arg.map.list.b } else := {"a": 1}
warn contains y.map if {
	v := {k: e[_] | some k, e in input.request.object.list[_]; w := [x.c.c | some x in e.map.c; z := f(e); not f(z)]}
	y := {e[_] | some e in v; z := input.request.object.map.list[_]}
}`,
	} {
		p := compile(t, "package p\n\nimport rego.v1\n\n"+rules).policies[0]
		f := newReadFinder(p, "CREATE")
		f.find()
		require.Equal(t, "it is too complex", f.reason, name)
		require.Greater(t, f.effort.left, -2*maxEffort, "%s: it went on for long without effort", name)
		require.Contains(t, p.decisiveFor("CREATE").reason, "too complex", name)
	}
}

func TestMemoForgetsWithTheData(t *testing.T) {
	set := compile(t, `# METADATA
# custom:
#   requires: [{group: "", kind: Service}]
package p

import rego.v1

deny contains "taken" if data.cluster.Service[_][input.request.object.metadata.name]`)
	s, memo := remembering(t, MemoOn, set)
	ask := func(data *ClusterData) *Decision {
		return s.Validate(t.Context(), makeReview(t, pod), Options{Cluster: data})
	}
	empty, err := NewClusterData([]jsonRaw{jsonRaw(`{"apiVersion":"v1","kind":"Service","metadata":{"name":"other","namespace":"shop"}}`)})
	require.NoError(t, err)
	for range 3 {
		require.True(t, ask(empty).Allowed())
	}
	require.Equal(t, uint64(1), memo.Stats().Hits)
	object, err := NewClusterObject(jsonRaw(`{"apiVersion":"v1","kind":"Service","metadata":{"name":"web","namespace":"shop"}}`))
	require.NoError(t, err)
	taken := empty.With(ClusterChange{Kind: GroupVersionKind{Kind: "Service"}, Objects: map[ClusterObjectKey]*ClusterObject{object.Key(): object}})
	require.False(t, ask(taken).Allowed())
	require.True(t, ask(empty).Allowed())
}

func TestMemoKeepsNamespacesApart(t *testing.T) {
	s, _ := remembering(t, MemoOn, compile(t, `package p

import rego.v1

deny contains "no" if input.namespace.metadata.labels.env == "prod"`))
	ask := func(env string) bool {
		namespace := fmt.Appendf(nil, `{"metadata":{"name":"shop","labels":{"env":%q}}}`, env)
		return s.Validate(t.Context(), makeReview(t, pod), Options{Namespace: namespace}).Allowed()
	}
	for range 3 {
		require.True(t, ask("test"))
	}
	require.False(t, ask("prod"))
}

// TestMemoIsBounded sends what is new all the time, twice each.
func TestMemoIsBounded(t *testing.T) {
	memo := NewMemo(MemoOn, 20_000, nil)
	s := snapshotOf(compile(t, imagePolicy)).Remembering(memo)
	for i := range 400 {
		for range 2 {
			s.Validate(t.Context(), makeReview(t, imagePod("x", fmt.Sprintf("registry/%d", i))), Options{})
		}
	}
	stats := memo.Stats()
	require.Positive(t, stats.Evictions)
	require.Positive(t, stats.Entries)
	require.LessOrEqual(t, stats.Bytes, 20_000+maxKeyBytes)
}

// TestMemoTakesNothingSeenOnce sends what is new all the time.
func TestMemoTakesNothingSeenOnce(t *testing.T) {
	s, memo := remembering(t, MemoOn, compile(t, imagePolicy))
	for i := range 200 {
		s.Validate(t.Context(), makeReview(t, imagePod("x", fmt.Sprintf("registry/%d", i))), Options{})
	}
	require.LessOrEqual(t, memo.Stats().Entries, 10)
	s.Validate(t.Context(), makeReview(t, imagePod("x", strings.Repeat("registry/", maxKeyBytes))), Options{})
	s.Validate(t.Context(), makeReview(t, imagePod("x", strings.Repeat("registry/", maxKeyBytes))), Options{})
	require.Less(t, memo.Stats().Bytes, maxKeyBytes)
}

// TestMemoCheckReports puts a verdict into the memory that is wrong.
func TestMemoCheckReports(t *testing.T) {
	var log bytes.Buffer
	memo := NewMemo(MemoCheck, 0, slog.New(slog.NewTextHandler(&log, nil)))
	s := snapshotOf(compile(t, imagePolicy)).Remembering(memo)
	ask3(t, s, imagePod("x", "registry/web"))
	require.Zero(t, memo.Stats().Hits, "everything is evaluated")
	require.Zero(t, memo.Stats().Differences)
	s.policies[0].known.done["CREATE"] = &decisive{parts: wholeDemand().at("request", "operation")}
	s.Remembering(memo)
	ask3(t, s, imagePod("x", "registry/web"))
	require.Len(t, s.Validate(t.Context(), makeReview(t, imagePod("x", "evil")), Options{}).Denials, 1, "the evaluated verdict counts")
	require.Equal(t, uint64(1), memo.Stats().Differences)
	require.Contains(t, log.String(), "policy=images")
}

// TestMemoDistrusts: what a sample shows to be wrong is not used again.
func TestMemoDistrusts(t *testing.T) {
	var log bytes.Buffer
	memo := NewMemo(MemoOn, 0, slog.New(slog.NewTextHandler(&log, nil)))
	require.Equal(t, uint32(memoSample), memo.sample)
	memo.sample = 0
	s := snapshotOf(compile(t, imagePolicy)).Remembering(memo)
	s.policies[0].known.done = map[string]*decisive{"CREATE": {parts: wholeDemand().at("request", "operation")}}
	denied := func(image string) int {
		return len(s.Validate(t.Context(), makeReview(t, imagePod("x", image)), Options{}).Denials)
	}
	ask3(t, s, imagePod("x", "registry/web"))
	require.Zero(t, denied("evil"), "the verdict that is remembered is wrong")
	memo.sample = 1
	require.Equal(t, 1, denied("evil"), "the evaluated verdict counts")
	memo.sample = 0
	require.Equal(t, 1, denied("evil"), "and the policy is remembered no more")
	ask3(t, s, imagePod("x", "registry/web"))
	require.Equal(t, 1, denied("evil"))
	require.Equal(t, uint64(1), memo.Stats().Differences)
	require.Contains(t, log.String(), "policy=images")
}

// TestMemoUnderSwaps asks while snapshots come and go: each answers by its own rules.
func TestMemoUnderSwaps(t *testing.T) {
	live := NewLive(BuiltinResources())
	memo := NewMemo(MemoOn, 0, nil)
	live.Remember(memo)
	sets := []*PolicySet{compile(t, imagePolicy), compile(t, strings.ReplaceAll(imagePolicy, "registry/", "other/"))}
	live.Put(sets[0])
	live.Publish()
	reviews := []*Review{}
	for i := range 8 {
		reviews = append(reviews, makeReview(t, imagePod(fmt.Sprint("x", i), []string{"registry/web", "other/web"}[i%2])))
	}
	stop := make(chan struct{})
	var swapping, asking sync.WaitGroup
	swapping.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
				live.Put(sets[i%2])
			}
		}
	})
	for range 4 {
		asking.Go(func() {
			for range 300 {
				i := rand.IntN(len(reviews))
				s := live.Snapshot()
				wanted := s.policies[0].set == sets[i%2]
				if s.Validate(t.Context(), reviews[i], Options{}).Allowed() != wanted {
					t.Error("a verdict of another snapshot")
				}
				memo.Stats()
			}
		})
	}
	asking.Wait()
	close(stop)
	swapping.Wait()
	require.Positive(t, memo.Stats().Misses)
}

func TestReads(t *testing.T) {
	s := snapshotOf(compile(t, imagePolicy))
	require.Equal(t, []PolicyReads{{
		Source: "test", Package: "images",
		Paths: []string{
			"request.object.metadata.name~", "request.object.spec.containers[_].image",
			"request.object.spec.containers[_].name~", "request.operation",
		},
	}}, s.Reads("CREATE"))
}
