//go:build !race

// Nothing here runs in two goroutines: the race detector would only make it slow.

package engine

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// conflictWriter writes policies whose partial objects may have two values for a key, and
// that read one key of them, all keys or the object. Both evaluators meet the same conflicts,
// unless the policy is mixed: then, rules of one name have keys of different depth, or values
// of different kinds.
type conflictWriter struct {
	*kindWriter
	mixed bool
}

func newConflictWriter(seed uint64) *conflictWriter {
	w := &conflictWriter{kindWriter: &kindWriter{Rand: rand.New(rand.NewPCG(seed, 14))}}
	w.mixed = w.IntN(3) == 0
	return w
}

// conflictForms are what stands for a name in angle brackets; a # is a name of its own for
// each.
var conflictForms = map[string][]string{
	"o": {"input.request.object"},
	"c": {`"x"`, `"x"`, `"y"`, `"z"`},
	"k": {"<c>", "<c>", "<o>.a", "<o>.b", `object.get(<o>, "a", "x")`},
	"v": {"1", "2", "<o>.a", "<o>.b"},
	"n": {"x", "y", "z"},

	"port": {
		"port[c.name] := c.port if { some c in <o>.list }\n", "port[c.name] := c.port if { some c in <o>.list }\n", "port[c.name] := c.port if { some c in <o>.list; c.kind != <c> }\n", "port[c.kind] := c.name if { c := <o>.list[_] }\n",
		"port[k] := v if { some k, v in <o>.map }\n", "port[<o>.a] := <v>\n", "port.<n> := <v>\n", "port[k] := i if { some i, k in [<k>, <k>, <k>] }\n", "port[k] := <v> if { some k in [<k>, <c>] }\n",
	},
	"fixed": {"fixed.<n> := <v>\n", "fixed.<n> := <v> if { <o>.a == <c> }\n", "fixed.<n> := c.port if { some c in <o>.list }\n"},
	"nest": {
		"nest[c.name][c.kind] := c.port if { some c in <o>.list }\n", "nest[c.name].<n> := c.port if { some c in <o>.list }\n", "nest.<n>[c.name] := c.port if { some c in <o>.list }\n", "nest[<k>][<k>] := <v>\n",
	},
	"mix": {
		"nest[c.name] contains c.port if { some c in <o>.list }\n", "nest.<n> contains <v>\n", "nest[c.name] := c.port if { some c in <o>.list }\n", "nest[<k>][<k>] := <v>\n", "nest[<k>][<k>] contains <v>\n", "nest[c.name][c.kind] := c.port if { some c in <o>.list }\n",
		"nest[c.name] := {<c>: c.port} if { some c in <o>.list }\n", "nest[<k>] := {<c>: <v>}\n", "nest.<n> := {<c>: {<c>: <v>}}\n", "nest[<k>][<k>][<k>] := <v>\n", "nest[c.name][c.kind] := {<c>: <v>} if { some c in <o>.list }\n",
	},

	"object": {"port", "port", "port", "fixed", "nest", "nest.<n>", "nest[<k>]"},
	"one": {
		"<object>.<n>", "<object>[<k>]", "<object>[<k>]", "nest.<n>.<n>", "nest[<k>][<k>]", "f(<k>)", "g(<k>)", "h(<o>.list)[<k>]",
	},
	"value": {"<one>", "<one>", "<one>", "<object>[_]", "<object>[_].<n>", "<object>", `object.get(<object>, <c>, "none")`, "object.keys(<object>)", "count(<object>)", "nest[_][<k>]", "whole", "json.marshal(<object>)"},
	"read": {
		"w := <value>", "w := <value>", "w := <value>", "k# := <k>; w := <object>[k#]", "some w, <k> in <object>", "some w in <object>", "some k#, w in <object>; k# == <c>", "<object>[w]", "<object>[w] == <v>", "k# := <k>; some k#, w in <object>",
		"p# := <object>; w := p#[<k>]", "w := [x | x := <value>]", "w := {k | <object>[k]}", "w := {k: x | some k, x in <object>}", `{"x": w} = <object>`, `[w, "x"] = [<one>, "x"]`, "walk(<object>, [_, w])",
		"w := <value> with <o>.list as <o>.other", "w := <one> with <o>.a as <c>", "w := <o>.a with input as <object>", "w := <one> with input.request as {\"object\": {\"list\": <o>.other}}", "w := <one> with data.rules.port as {\"x\": <o>.a}", "w := data.base with data.base as <object>", "w := data.base.x with data.base.x as <one>",
	},
	"test": {"<one> == <v>", "<one>", "not <one>", "not <value>", "<object>", "not <object>", "<v> in <object>", "every x# in <object> { x# != <v> }", "<o>.a == <c>", "not <one> == <one>", "<one> != <v>"},
	"body": {"<read>", "<read>; <test>", "<test>; <read>"},
	"rest": {"whole := <one>\n", "whole := w if { <body> } else := <one>\n", "f(k) := port[k]\n", "f(k) := v if { v := nest[k][_] }\n", "g(k) := v if { v := <object>[k] } else := <one>\n", "g(k) if { <object>[k] }\n"},
	"deny": {"deny contains w if { <body> }\n"},
}

func (w *conflictWriter) form(name string) string {
	if w.mixed && name == "nest" {
		name = "mix"
	}
	w.next++
	options := conflictForms[name]
	text := strings.ReplaceAll(options[w.IntN(len(options))], "#", w.suffix())
	return angled.ReplaceAllStringFunc(text, func(inner string) string { return w.form(inner[1 : len(inner)-1]) })
}

func (w *conflictWriter) policy() string {
	text := "package rules\n\nimport rego.v1\n\nport[k] := 1 if { some k in [\"n\"] }\n\nfixed.n := 1\n\nh(l) := {c.name: c.port | some c in l}\n\nf(\"never\") := 1\n\ng(\"never\") := 1\n\nwhole := 1 if input.never\n\n"
	if !w.mixed {
		text += "nest.n.n := 1\n\n"
	}
	for _, rule := range []string{"port", "fixed", "nest", "rest", "deny", "deny"} {
		for range 1 + w.IntN(2) {
			text += w.form(rule) + "\n"
		}
	}
	return text
}

func (w *conflictWriter) object() map[string]any {
	object := map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "n", "namespace": "shop"}}
	for range 3 {
		object = w.nearCopy(object)
	}
	return object
}

// nearCopy changes some fields.
func (w *conflictWriter) nearCopy(object map[string]any) map[string]any {
	name := func() any { return []any{"x", "x", "y", "z"}[w.IntN(4)] }
	list := func() any {
		all := []any{}
		for range w.IntN(4) {
			all = append(all, map[string]any{"name": name(), "kind": name(), "port": []any{1, 1, 2, "x"}[w.IntN(4)]})
		}
		return all
	}
	out := map[string]any{}
	for key, value := range object {
		out[key] = value
	}
	for range 2 {
		switch field := []string{"a", "b", "list", "list", "other", "map"}[w.IntN(6)]; field {
		case "list", "other":
			out[field] = list()
		case "map":
			out[field] = map[string]any{"x": w.IntN(2), "y": name()}
		default:
			out[field] = name()
		}
	}
	return out
}

// TestRulesOfDifferentDepth reads objects that rules with paths of different length make.
func TestRulesOfDifferentDepth(t *testing.T) {
	t.Parallel()
	long := "nest[c.name][c.kind] := 1 if { some c in input.request.object.list }\n"
	shorts := map[string]string{}
	for name, value := range map[string]string{"equal": `{"x": 1}`, "more": `{"x": 1, "y": 1}`, "different": `{"x": 2}`, "empty": "{}", "a string": `"x"`, "an array": "[1]", "a set": `{"x"}`} {
		shorts[name] = "nest[c.name] := " + value + " if { some c in input.request.object.list }\n"
	}
	for name, short := range shorts {
		for order, rules := range map[string]string{
			"the short one first": short + long, "the long one first": long + short,
			"the short one twice": short + long + short, "another short one": long + short + "nest[c.name] := {\"z\": 1} if { some c in input.request.object.list }\n",
			"a conflict within": long + "nest[c.name][c.kind] := 2 if { some c in input.request.object.list }\n" + short,
		} {
			text := "package rules\n\nimport rego.v1\n\n" + rules
			for i, read := range []string{"nest", "nest.x", "nest.x.x", "nest.x.y", "nest.x.z", "nest.x[0]", "nest[_]", "nest.x[_]", "nest.y", "nest.y.x"} {
				text += fmt.Sprintf("\nr%d := [w | w := %s]\n", i, read)
			}
			asked := newAskedTwice(text + "\ndeny contains 1 if input.x\n")
			require.NotNil(t, asked, text)
			for _, list := range []string{`[{"name":"x","kind":"x"}]`, `[{"name":"x","kind":"y"}]`, `[{"name":"x","kind":"x"},{"name":"x","kind":"y"}]`, `[{"name":"x","kind":"x"},{"name":"y","kind":"y"}]`, `[{"name":"x"}]`} {
				input := newEvaluation(makeReview(t, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"n","namespace":"shop"},"list":`+list+`}`), Options{}).input(sourceOf(asked.set))
				want, got := asked.byOPA(t, input), asked.byEval(t, input)
				for rule := range want {
					if name == "more" && order == "the long one first" && strings.Count(list, `"name":"x"`) == 2 {
						continue // where OPA meets a conflict depends on earlier reads
					}
					assert.Equal(t, want[rule], got[rule], "%s, %s, %s, %s\n%s", name, order, rule, list, text)
				}
			}
		}
	}
}
