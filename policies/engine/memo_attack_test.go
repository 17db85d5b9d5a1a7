package engine

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestMemoAttacks asks about an object, and then about another that the policy tells from
// it by a way that the derivation of the parts could miss.
func TestMemoAttacks(t *testing.T) {
	for name, test := range map[string]struct{ rules, silent, denied string }{
		"a constant key beside variable ones": {`
limits.x := "a" if spec.flag
limits[k] := v if some k, v in spec.map
deny contains "no" if limits.x == "bad"`, `{"map": {"x": "good"}}`, `{"map": {"x": "bad"}}`},
		"a constant key beside variable ones, with a variable": {`
limits.x := "a" if spec.flag
limits[k] := v if some k, v in spec.map
deny contains "no" if { y := limits.x; y == "bad" }`, `{"map": {"x": "good"}}`, `{"map": {"x": "bad"}}`},
		"one key with two values": {`
by_name[k] := v if { some c in spec.list; k := c.name; v := c.x }
deny contains "no" if { by_name[k]; k == "never" }`, `{"list": [{"name": "a", "x": 1}, {"name": "a", "x": 1}]}`, `{"list": [{"name": "a", "x": 1}, {"name": "a", "x": 2}]}`},
		"a rule with a value for each of several members": {`
set contains [c.name, "k"] if some c in spec.list
r := y if { set[[x, "k"]]; y := spec.map[x] }
deny contains "no" if { not r; false }
deny contains "never" if { r; spec.never }`, `{"list": [{"name": "a"}, {"name": "b"}], "map": {"a": 1, "b": 1}}`, `{"list": [{"name": "a"}, {"name": "b"}], "map": {"a": 1, "b": 2}}`},
		"two variables of a name, one of them input": {`
list contains c if some c in spec.list
deny contains "no" if {
	count({1 | n = input.request.object.spec; n.q}) == 0
	[c.name | n = {m | m = list[_]}; c = n[_]][0] == "bad"
}`, `{"list": [{"A": 1, "name": "x"}, {"A": 2, "name": "bad"}]}`, `{"list": [{"A": 2, "name": "x"}, {"A": 1, "name": "bad"}]}`},
		"two variables of a name, one of them input, again": {`
list contains c if some c in spec.list
deny contains "no" if {
	count({1 | n = input.request.object.spec.z}) == 0
	[c.name | n = {m | m = list[_]}; c = n[_]][0] == "bad"
}`, `{"list": [{"A": 1, "name": "x"}, {"A": 2, "name": "bad"}]}`, `{"list": [{"A": 2, "name": "x"}, {"A": 1, "name": "bad"}]}`},
		"one key of a constant and of variable ones with two values": {`
p[k] := v if some k, v in spec.a
p.x := spec.b
deny contains "no" if { p[k]; k == "never" }`, `{"a": {"x": 1}, "b": 1}`, `{"a": {"x": 1}, "b": 2}`},
		"one key of two rules with two values": {`
p[k] := v if some k, v in spec.a
p[k] := v if some k, v in spec.b
deny contains "no" if { p[k]; k == "never" }`, `{"a": {"x": 1}, "b": {"x": 1}}`, `{"a": {"x": 1}, "b": {"x": 2}}`},
		"one key of two rules without iteration": {`
p[k] := spec.a if k := spec.k
p[k] := spec.b if k := spec.l
deny contains "no" if { p[k]; k == "never" }`, `{"k": "x", "l": "x", "a": 1, "b": 1}`, `{"k": "x", "l": "x", "a": 1, "b": 2}`},
		"one key, which is asked for, with two values": {`
p[k] := v if { some c in spec.list; k := c.name; v := c.x }
deny contains "no" if not p.a`, `{"list": [{"name": "a", "x": 1}, {"name": "a", "x": 1}]}`, `{"list": [{"name": "a", "x": 1}, {"name": "a", "x": 2}]}`},
		"a default of a limit, compared": {`
limits[k] := v if some k, v in spec.map
limits.cpu := 4 if not spec.map.cpu
deny contains "no" if { limit := limits.cpu; limit == 9 }`, `{"map": {"cpu": 5}}`, `{"map": {"cpu": 9}}`},
		"a constant key two levels below variable ones": {`
p[k][l] := v if { some k, w in spec.a; some l, v in w }
p.q.r := "a" if spec.flag
deny contains "no" if { x := p.q.r; x == "bad" }`, `{"a": {"q": {"r": "good"}}}`, `{"a": {"q": {"r": "bad"}}}`},
		"two values for constant keys that are not asked for": {`
p[k][l] := v if { some k, w in spec.a; some l, v in w }
p.q.r := spec.b
deny contains "no" if p[_].s == "bad"`, `{"a": {"q": {"r": 1}}, "b": 1}`, `{"a": {"q": {"r": 1}}, "b": 2}`},
		"a constant key as a path": {`
p[k] := v if some k, v in spec.a
p.q := "x" if spec.flag
deny contains "no" if { k := p.q; object.get(spec.map, k, "none") == "bad" }`, `{"a": {"q": "y"}, "map": {"y": "good"}}`, `{"a": {"q": "y"}, "map": {"y": "bad"}}`},
		"a constant key as a step": {`
p[k] := v if some k, v in spec.a
p.q := "x" if spec.flag
deny contains "no" if { k := p.q; spec.map[k] == "bad" }`, `{"a": {"q": "y"}, "map": {"y": "good"}}`, `{"a": {"q": "y"}, "map": {"y": "bad"}}`},
		"a constant key as an argument": {`
p[k] := v if some k, v in spec.a
p.q := "x" if spec.flag
f(k) if { k == "y"; spec.b == "bad" }
deny contains "no" if { k := p.q; f(k) }`, `{"a": {"q": "y"}, "b": "good"}`, `{"a": {"q": "y"}, "b": "bad"}`},
		"a constant key under a set": {`
deny contains "no" if { some x in {1, "a", spec.k}; ["l", "m"][x] == spec.v }`, `{"k": 0, "v": "q"}`, `{"k": 0, "v": "m"}`},
		"a constant number, written in two ways": {`
deny contains "no" if { x := 1.0; x == 1; spec.a == "bad" }`, `{"a": "good"}`, `{"a": "bad"}`},
		"a constant list with a number written in two ways": {`
deny contains "no" if { m := {1: "x"}; m[1.0] == "x"; spec.a == "bad" }`, `{"a": "good"}`, `{"a": "bad"}`},
		"patch and subset": {`
deny contains "no" if { x := json.patch(spec, [{"op": "add", "path": "/a", "value": 1}]); x.b == "bad" }`, `{"b": "good"}`, `{"b": "bad"}`},
		"graph": {`
deny contains "no" if "bad" in graph.reachable(spec.g, {"a"})`, `{"g": {"a": ["b"], "b": []}}`, `{"g": {"a": ["bad"], "bad": []}}`},
		"length": {`
deny contains "no" if count(array.slice(spec.l, 0, 5)) == 2`, `{"l": [1]}`, `{"l": [1, 1]}`},
		"an input with another input in a function": {`
f(i) := i.request.object.spec.a
deny contains "no" if { x := input; f(x) == "bad" }`, `{"a": "x"}`, `{"a": "bad"}`},
		"every within a list": {`
deny contains "no" if count([1 | some c in spec.list; every x in c { x > 1 }]) == 1`, `{"list": [[1], [0]]}`, `{"list": [[2], [0]]}`},
		"a rule's set of sets": {`
s contains {x | some x in c} if some c in spec.list
deny contains "no" if count(s) == 1`, `{"list": [[1], [2]]}`, `{"list": [[1, 1], [1]]}`},
		"input as a key": {`
seen contains spec.map
seen contains input if spec.b == 1
deny contains "no" if { x := {input.request.object.spec.map: "good", {"a": 1}: "bad"}; x[input.request.object.spec.c] == "bad" }`, `{"map": {"b": 1}, "c": {"b": 1}}`, `{"map": {"b": 1}, "c": {"a": 1}}`},
		"deep keys": {`
p[k][l] := v if { some k, w in spec.a; some l, v in w }
p.q.r := "a" if spec.flag
deny contains "no" if p.q.r == "bad"`, `{"a": {"q": {"r": "good"}}}`, `{"a": {"q": {"r": "bad"}}}`},
		"a default beside variable keys": {`
limits[k] := v if { some k, v in spec.map }
limits.cpu := 4 if not spec.map.cpu
deny contains "no" if { limits.cpu > 8 }`, `{"map": {"cpu": 5}}`, `{"map": {"cpu": 9}}`},
		"constants through a rule with else": {`
mode := "strict" if spec.a else := "lax" if spec.b else := x if { x := spec.mode }
deny contains "no" if mode == "evil"`, `{"mode": "good"}`, `{"mode": "evil"}`},
		"constants that a variable gets twice": {`
f(x, y) := z if { z := {"a": x, "b": y}[spec.k] }
deny contains "no" if { f("p", "q") == "q" }`, `{"k": "a"}`, `{"k": "b"}`},
		"the index of a member": {`
deny contains "no" if { some i; spec.list[i] == "x"; ["good", "bad"][i] == "bad" }`, `{"list": ["x", "y"]}`, `{"list": ["y", "x"]}`},
		"a number as an index": {`
deny contains "no" if not ["a"][spec.i]`, `{"i": 0}`, `{"i": 1}`},
		"every over a key": {`
deny contains "no" if every k, v in spec.map { startswith(k, "x"); v }`, `{"map": {"y": true}}`, `{"map": {"x": true}}`},
		"every over undefined": {`
deny contains "no" if every v in spec.map { v }`, `{}`, `{"map": {}}`},
		"object with a variable in a pattern": {`
deny contains "no" if { {"a": x, "b": x} = spec.map }`, `{"map": {"a": 1, "b": 2}}`, `{"map": {"a": 1, "b": 1}}`},
		"function patterns": {`
f([x, {"k": y}]) if x == y
deny contains "no" if f([spec.a, {"k": spec.b}])`, `{"a": 1, "b": 2}`, `{"a": 1, "b": 1}`},
		"function with a constant argument": {`
f("bad") := true
f(x) := false if x != "bad"
deny contains "no" if f(spec.a)`, `{"a": "good"}`, `{"a": "bad"}`},
		"negated function": {`
f(x) := x.ok
deny contains "no" if not f(spec)`, `{"ok": true}`, `{"ok": false}`},
		"message that is an object": {`
deny contains spec.m`, `{"m": {}}`, `{"m": {"msg": "x"}}`},
		"message of a partial object": {`
m[k] := v if some k, v in spec.m
deny contains m`, `{"m": {}}`, `{"m": {"msg": "x"}}`},
		"message of a list's member": {`
deny contains msg if some msg in spec.m`, `{"m": [false]}`, `{"m": [true]}`},
		"message of a comprehension": {`
deny contains msg if msg := {k: v | some k, v in spec.m}`, `{"m": {}}`, `{"m": {"msg": "x"}}`},
		"a complete list": {`
deny := [m | some m in spec.m]`, `{"m": []}`, `{"m": ["x"]}`},
		"a complete list of empties": {`
deny := [m | some m in spec.m]`, `{"m": [false]}`, `{"m": ["a"]}`},
		"a default that denies": {`
default deny := "no"
deny := "" if spec.ok`, `{"ok": true}`, `{"ok": false}`},
		"data under with": {`
allowed contains "a"
g if spec.x in allowed
deny contains "no" if g with data.p.allowed as {spec.y}`, `{"x": "q", "y": "r"}`, `{"x": "q", "y": "q"}`},
		"data of a name under with": {`
c.a := spec.a
c.b := spec.b
deny contains "no" if data.p.c[spec.k] == 1 `, `{"a": 0, "b": 1, "k": "a"}`, `{"a": 0, "b": 1, "k": "b"}`},
		"number in a set": {`deny contains "no" if count({spec.a, spec.b}) == 1`, `{"a": 1, "b": 2}`, `{"a": 1, "b": 1}`},
		"set literal":     {`deny contains "no" if {spec.a} == {"bad"}`, `{"a": "x"}`, `{"a": "bad"}`},
		"order by set of arrays": {`
s contains [c.p, c.n] if some c in spec.list
deny contains "no" if [x | some [_, x] in s][0] == "bad"`, `{"list": [{"p": 1, "n": "x"}, {"p": 2, "n": "bad"}]}`, `{"list": [{"p": 2, "n": "x"}, {"p": 1, "n": "bad"}]}`},
		"order by function": {`
s contains [c.p, c.n] if some c in spec.list
f(l) := [x | some [_, x] in l]
deny contains "no" if f(s)[0] == "bad"`, `{"list": [{"p": 1, "n": "x"}, {"p": 2, "n": "bad"}]}`, `{"list": [{"p": 2, "n": "x"}, {"p": 1, "n": "bad"}]}`},
		"order by a pattern": {`
s contains [c.p, c.n] if some c in spec.list
deny contains "no" if [x | s[[_, x]]][0] == "bad"`, `{"list": [{"p": 1, "n": "x"}, {"p": 2, "n": "bad"}]}`, `{"list": [{"p": 2, "n": "x"}, {"p": 1, "n": "bad"}]}`},
		"order by a nested set": {`
o := {"s": {[c.p, c.n] | some c in spec.list}}
deny contains "no" if [x | some [_, x] in o.s][0] == "bad"`, `{"list": [{"p": 1, "n": "x"}, {"p": 2, "n": "bad"}]}`, `{"list": [{"p": 2, "n": "x"}, {"p": 1, "n": "bad"}]}`},
		"order by a sum over duplicates": {`
s contains c if some c in spec.list
deny contains "no" if count([1 | some c in s]) == 1`, `{"list": [{"p": 1}, {"p": 2}]}`, `{"list": [{"p": 1}, {"p": 1}]}`},
		"order in a function over a rule": {`
s contains c if some c in spec.list
n := count([c.q | some c in s])
deny contains "no" if n == 1`, `{"list": [{"p": 1, "q": 1}, {"p": 2, "q": 1}]}`, `{"list": [{"p": 1, "q": 1}, {"p": 1, "q": 1}]}`},
		"set in a list through an object rule": {`
s[k] contains c if { some c in spec.list; k := "a" }
deny contains "no" if count([1 | some x in s.a]) == 1`, `{"list": [{"p": 1}, {"p": 2}]}`, `{"list": [{"p": 1}, {"p": 1}]}`},
		"set of a rule through a variable": {`
s[k] contains c if { some c in spec.list; k := "a" }
deny contains "no" if { y := s; count([1 | y[_][_]]) == 1 }`, `{"list": [{"p": 1}, {"p": 2}]}`, `{"list": [{"p": 1}, {"p": 1}]}`},
		"a set of a function in a list": {`
f(l) := {c | some c in l}
deny contains "no" if count([1 | some x in f(spec.list)]) == 1`, `{"list": [{"p": 1}, {"p": 2}]}`, `{"list": [{"p": 1}, {"p": 1}]}`},
		"set under with input": {`
g := count([1 | some x in input.s])
deny contains "no" if { g == 1 with input as {"s": {c | some c in spec.list}} }`, `{"list": [{"p": 1}, {"p": 2}]}`, `{"list": [{"p": 1}, {"p": 1}]}`},
		"set in parameters' place under with": {`
h := n if { x := input.s; n := count([1 | some _ in x]) }
deny contains "no" if { y := {c | some c in spec.list}; h == 1 with input.s as y }`, `{"list": [{"p": 1}, {"p": 2}]}`, `{"list": [{"p": 1}, {"p": 1}]}`},
		"object get with a default of input": {`
deny contains "no" if object.get({"a": "x"}, spec.k, spec.d) == "bad"`, `{"k": "z", "d": "x"}`, `{"k": "z", "d": "bad"}`},
		"object get over constants": {`
deny contains "no" if { v := object.get({"a": "x"}, "b", spec.d); v == "bad" }`, `{"d": "x"}`, `{"d": "bad"}`},
		"object get of a number in a set": {`
members contains x if some x in spec.list
deny contains "no" if object.get({"of": members}, ["of", 1], false)`, `{"list": [2]}`, `{"list": [1]}`},
		"object get of a list in a set of a rule's object": {`
members[k] contains v if some k, v in spec.map
deny contains "no" if object.get(members, ["of", [1]], false)`, `{"map": {"of": [2]}}`, `{"map": {"of": [1]}}`},
		"large numbers in a set, written in two ways": {`
deny contains "no" if { not 1e400 in {10e399}; spec.a == "bad" }`, `{"a": "good"}`, `{"a": "bad"}`},
		"large numbers as keys, written in two ways": {`
deny contains "no" if { m := {10e399: "x"}; not m[1e400]; spec.a == "bad" }`, `{"a": "good"}`, `{"a": "bad"}`},
		"object get of a path in a list": {`
deny contains "no" if object.get(spec, ["l", 1], "none") == "bad"`, `{"l": ["a", "b"]}`, `{"l": ["a", "bad"]}`},
		"object get of whatever path": {`
paths := [["a"], ["b", "c"]]
deny contains "no" if { some q in paths; object.get(spec, q, "none") == "bad" }`, `{"b": {"c": "x"}}`, `{"b": {"c": "bad"}}`},
		"sprintf as a key": {`
deny contains "no" if { k := sprintf("%v-%v", [spec.a, spec.b]); spec.m[k] }`, `{"a": 1, "b": 2, "m": {"1-1": true}}`, `{"a": 1, "b": 1, "m": {"1-1": true}}`},
		"sprintf through a function": {`
n(x) := sprintf("%v", [x.a])
deny contains n(spec) if n(spec) != "1"`, `{"a": 1}`, `{"a": 2}`},
		"sprintf through a rule in a set": {`
names contains sprintf("%v", [spec.a])
deny contains msg if { some msg in names; "bad" in names }`, `{"a": "x"}`, `{"a": "bad"}`},
		"count of said": {`
names contains sprintf("%v", [x]) if some x in spec.l
deny contains sprintf("%v", [names]) if count(names) == 1`, `{"l": ["a", "b"]}`, `{"l": ["a", "a"]}`},
		"function conflict": {`
f(x) := x.a if x.p
f(x) := x.b if x.q
deny contains "no" if { f(spec) == 5 }`, `{"p": true, "q": true, "a": 1, "b": 1}`, `{"p": true, "q": true, "a": 1, "b": 2}`},
		"function conflict of existence": {`
f(x) := x.a if x.p
f(x) := x.b if x.q
deny contains "no" if { f(spec); spec.never }`, `{"p": true, "q": true, "a": 1, "b": 1}`, `{"p": true, "q": true, "a": 1, "b": 2}`},
		"function conflict by iteration": {`
f(x) := y if some y in x
deny contains "no" if { f(spec.l); spec.never }`, `{"l": [1, 1]}`, `{"l": [1, 2]}`},
		"function conflict by a pattern": {`
f(x) := y if { [_, y] = x[_] }
deny contains "no" if { f(spec.l); spec.never }`, `{"l": [[1, 1], [2, 1]]}`, `{"l": [[1, 1], [2, 2]]}`},
	} {
		t.Run(name, func(t *testing.T) {
			set, err := Compile(Source{Name: "test", Files: map[string]string{"policy.rego": "package p\n\nimport rego.v1\n\nspec := input.request.object.spec\n" + test.rules, "sub.rego": "package p.sub\n\nimport rego.v1\n\nq := input.request.object.spec.a\n"}})
			require.NoError(t, err)
			s, memo := remembering(t, MemoOn, set)
			wanted := snapshotOf(set).Validate(t.Context(), makeReview(t, podWith("x", test.denied)), Options{}).Denials
			first := snapshotOf(set).Validate(t.Context(), makeReview(t, podWith("x", test.silent)), Options{}).Denials
			require.NotEmpty(t, wanted, "no attack")
			require.Empty(t, first, "no attack")
			ask3(t, s, podWith("x", test.silent))
			require.NotZero(t, memo.Stats().Entries, "not remembered")
			require.Len(t, s.Validate(t.Context(), makeReview(t, podWith("x", test.denied)), Options{}).Denials, len(wanted), textsOf(wanted))
		})
	}
}

// TestMemoKeepsCertificateRequestsApart asks about one object as another resource, where
// input.csr is not made.
func TestMemoKeepsCertificateRequestsApart(t *testing.T) {
	s, _ := remembering(t, MemoOn, compile(t, "package p\n\nimport rego.v1\n\ndeny contains \"no\" if input.csr"))
	object := `{"apiVersion":"certificates.k8s.io/v1","kind":"CertificateSigningRequest","metadata":{"name":"x"},"spec":{"request":"AAAA"}}`
	ask3(t, s, object, field("resource", map[string]any{"group": "example.org", "version": "v1", "resource": "others"}))
	require.Len(t, s.Validate(t.Context(), makeReview(t, object), Options{}).Denials, 1)
}

// TestMemoKnowsParameters has parameters that say which expressions never hold.
func TestMemoKnowsParameters(t *testing.T) {
	for name, rule := range map[string]string{
		"an index with an exponent":     `not input.parameters.list[1e0]; spec.a == "bad"`,
		"a large member":                `not input.parameters.large in {1e400}; spec.a == "bad"`,
		"a negative index":              `not input.parameters.list[-1]; spec.a == "bad"`,
		"a member with a point":         `1.0 in input.parameters.numbers; spec.a == "bad"`,
		"an equal number":               `input.parameters.number == 1; spec.a == "bad"`,
		"null":                          `input.parameters.none == null; spec.a == "bad"`,
		"false":                         `not input.parameters.no; spec.a == "bad"`,
		"missing":                       `not input.parameters.missing; spec.a == "bad"`,
		"a member of an object":         `"v" in input.parameters.object; spec.a == "bad"`,
		"under with":                    `f with input.parameters as {"mode": "evil"}; spec.a == "bad"`,
		"under with, one":               `f with input.parameters.mode as "evil"; spec.a == "bad"`,
		"all of them":                   `some x in input.parameters.list; x == "y"; spec.a == "bad"`,
		"a variable of a default":       `x := object.get(input.parameters, "missing", "d"); x == "d"; spec.a == "bad"`,
		"a fallback that is read":       `x := object.get(input.parameters, "missing", spec.a); x == "bad"`,
		"through a function":            `g(input.parameters) == 1; spec.a == "bad"`,
		"through several calls":         `h("a"); h("b")`,
		"through input itself":          `x := input; x.parameters.number == 1; spec.a == "bad"`,
		"an error where the rest holds": `to_number(spec.b) > 9; object.get(input.parameters, "mode", "good") == "evil"; input.request.object.spec.a == "bad"`,
		"an error of a function where the rest holds": `n(spec.b) > 9; object.get(input.parameters, "mode", "good") == "evil"; input.request.object.spec.a == "bad"`,
	} {
		t.Run(name, func(t *testing.T) {
			set, err := Compile(Source{Name: "test", Parameters: []byte(`{"list": ["x", "y"], "numbers": [1], "number": 1.0, "large": 10e399, "none": null, "no": false, "object": {"k": "v"}, "mode": "good"}`), Files: map[string]string{"policy.rego": `package p

import rego.v1

spec := input.request.object.spec

f if input.parameters.mode == "evil"

g(x) := x.number

n(x) := to_number(x)

h(x) if x == "a"

h(x) if {
	x == "b"
	spec.a == "bad"
}

deny contains "no" if { ` + rule + ` }`}})
			require.NoError(t, err)
			wanted := snapshotOf(set).Validate(t.Context(), makeReview(t, podWith("x", `{"a": "bad", "b": "many"}`)), Options{}).Denials
			require.NotEmpty(t, wanted, "no attack")
			s, _ := remembering(t, MemoOn, set)
			ask3(t, s, podWith("x", `{"a": "good", "b": "many"}`))
			require.Equal(t, textsOf(wanted), denials(s.Validate(t.Context(), makeReview(t, podWith("x", `{"a": "bad", "b": "many"}`)), Options{})))
		})
	}
}

// TestMemoReadsNumbersInPatterns takes apart what may have a number for a name.
func TestMemoReadsNumbersInPatterns(t *testing.T) {
	s, memo := remembering(t, MemoOn, compile(t, `package p

import rego.v1

deny contains "no" if { {1: x, "a": y} = input.request.object.spec.a; x == y }`))
	ask3(t, s, pod)
	require.Equal(t, uint64(1), memo.Stats().Hits)
}

// TestDerivationFailsAlone has a policy that nothing can be derived for, for want of
// everything.
func TestDerivationFailsAlone(t *testing.T) {
	require.Contains(t, (&policy{known: &readsCache{}}).decisiveFor("CREATE").reason, "internal error")
}
