package engine

import (
	"bytes"
	"fmt"
	"log/slog"
	"math/rand/v2"
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

// TestMemoLeavesSharedObjects: rules at constant and at variable keys of one object.
func TestMemoLeavesSharedObjects(t *testing.T) {
	for rules, remembered := range map[string]bool{
		`p.a := 1
p.b := 2`: true,
		`p[k] := v if some k, v in input.request.object.spec.map
p[k] := 1 if k := "a"`: true,
		`p[k] := v if some k, v in input.request.object.spec.map
p.a := 1`: false,
		`p[k].b := v if some k, v in input.request.object.spec.map
p.a.b := 1`: false,
		`p.a[k] := v if some k, v in input.request.object.spec.map
p.b.a := 1`: true,
		`p.a[k] contains v if some k, v in input.request.object.spec.map
p.a.b contains 1`: false,
	} {
		s, memo := remembering(t, MemoOn, compile(t, "package p\n\nimport rego.v1\n\n"+rules+"\n\ndeny contains \"no\" if p.a == input.request.object.spec.never"))
		ask3(t, s, pod)
		require.Equal(t, remembered, memo.Stats().Entries > 0, rules)
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

func TestMemoSkipsQuarantinedPolicies(t *testing.T) {
	s, _ := remembering(t, MemoOn, compile(t, imagePolicy))
	ask3(t, s, imagePod("x", "registry/web"))
	s.policies[0].quarantine.enter()
	require.Len(t, s.Validate(t.Context(), makeReview(t, imagePod("x", "registry/web")), Options{}).Denials, 1)
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
