//go:build !race

// Nothing here runs in two goroutines: the race detector would only make it slow.

package engine

import (
	"encoding/json"
	"math/rand/v2"
	"regexp"
	"strings"
)

// kindWriter writes random policies of what the other writers leave out: numbers that are
// written in several ways, keys of every kind, patterns on both sides, functions with else
// and defaults, `with` on data and functions, conflicts, and errors within comprehensions.
type kindWriter struct {
	*rand.Rand
	next int
	low  bool // in a rule that others use
}

func newKindWriter(seed uint64) *kindWriter {
	return &kindWriter{Rand: rand.New(rand.NewPCG(seed, 13))}
}

// kinds are what stands for a name in angle brackets, one of them; a # is a name of its own
// for each.
var kinds = map[string][]string{
	"o":      {"input.request.object"},
	"number": {"1", "1.0", "1e0", "10e-1", "0", "-0", "0.0", "2.5", "2.50", "25e-1", "100000000000000000001", "1.00000000000000000001", "9007199254740993", "-3", "1e3"},
	"scalar": {"<number>", "<number>", `"x"`, `"y"`, `""`, "null", "true", "false"},
	"const":  {"<scalar>", "<scalar>", "[]", "{}", "set()", "[1, <scalar>]", `{"x": <scalar>}`, "{<scalar>, 1}", "{<number>: 2}"},
	"read":   {"<o>.a", "<o>.b", "<o>.c", "<o>.l[<number>]", "<o>.m.x", "<o>.m[<key>]", "<o>.l", "<o>.m", "<o>.d", "<o>.d.x", "<o>.d.x.y", "data.base.n", "data.base.m", "data.base.l", "data.base.m.x", "data.base.m[<key>]", "data.base[<key>]"},
	"key":    {`"x"`, `"y"`, "1", "1.0", "null", "true", "[1]", `{"x": 1}`, "<o>.a", "<o>.b", `"1"`},
	"value":  {"<read>", "<read>", "<const>", "<rule>", "f(<read>)", "g(<read>, <scalar>)", "<read>[_]"},
	"plain":  {"<read>", "<read>", "<const>", "<low>", "f(<read>)", "g(<read>, <scalar>)"},
	"low":    {"whole", "members", "keyed", "keyed[<key>]", "keyed.x", "nested", "nested.x", "nested.x.y", "nested[<key>]", "grouped", "grouped.x", "grouped[<key>]"},
	"rule":   {"<low>", "<low>", "other", "chosen"},
	"make":   {"[<plain>, <plain>]", "{<plain>, <plain>}", `{"x": <plain>, "y": <plain>}`, "{<plain>: <plain>}", "[<plain>]", "{<key>: <plain>}", `[{"x": <plain>}, <plain>]`},

	"bind": {
		"v# := <value>; w := v#", "w := <make>", "some w in <value>", "some w, _ in <value>", "some _, w in <value>", "some i#, v# in <value>; w := [i#, v#]",
		"[w, _] = <value>", "[w, <scalar>] = <make>", `{"x": w} = <value>`, `{"x": w, "y": _} = <make>`, "[w, [v#]] = [<plain>, [<plain>]]", "[w, v#] = [v#, <plain>]", "{<key>: w} = <make>",
		`[w, {"x": v#, "y": <scalar>}] = [v#, {"x": <plain>, "y": <plain>}]`, "[1, w] = [<number>, <plain>]", "some [w, _] in <value>", `some {"x": w} in <value>`, `some "x", w in <value>`,
		"walk(<value>, [_, w])", "walk(<value>, [w, <scalar>])", "walk(<value>, [[\"x\", _], w])", "w := [x | some x in <value>; <test>]", "w := {x | some x in <value>}", "w := {k: v | some k, v in <value>}", "w := {v: k | some k, v in <value>}",
		"w := count(<value>)", "w := sum(<value>)", "w := max(<value>)", "w := sort(<value>)", "w := <plain> + <plain>", "w := <plain> - <plain>", "w := <plain> * 2", "w := <plain> / <number>", "w := <plain> % 2",
		"w := <plain> | <plain>", "w := <plain> & <plain>", "w := [x | x := to_number(<plain>)]", "w := {x | x := <plain> / 0}", "w := to_number(<plain>)", "w := object.get(<plain>, <key>, <scalar>)", "w := object.get(<plain>, [<key>, <key>], 5)",
		"w := <value> with <o>.a as <plain>", "w := <rule> with data.base.m as <const>", "w := <rule> with data.base.n as <plain>", "w := <read> with data.base as {\"n\": <plain>}", "w := f(<plain>) with f as h", "w := <rule> with count as 7", "w := data.base with data.base.m.x as <plain>",
		"w := <rule> with data.rules.whole as <const>", "w := <rule> with data.rules.keyed as {\"x\": <scalar>}", "w := <rule> with input as data.base", "w := <rule> with input.request as {\"object\": data.base}", "w := data.base[<key>] with data.base.m as <const>",
		"w := sprintf(\"%v %v\", [<plain>, <plain>])", "w := json.marshal(<plain>)", "w := concat(\",\", <plain>)", "w := $\"<{><plain><}> and <{><o>.a<}>\"", "w := object.union(<plain>, <plain>)", "w := array.concat(<plain>, <plain>)", "w := object.keys(<plain>)", "w := type_name(<plain>)",
		"w := members[_]", "w := keyed[_]", "keyed[w]", "nested[w][_]", "nested[_][w]", "grouped[w][_]", "grouped[_][w]", "members[w]",
	},
	"test": {
		"<value> == <plain>", "<plain> == <const>", "<plain> != <plain>", "<plain> < <plain>", "<plain> >= <scalar>", "<value>", "not <plain>", "not <plain> == <scalar>", "<plain> in <value>", "<scalar>, <plain> in <value>", "not <plain> in <plain>",
		"every x# in <value> { x# != <scalar> }", "every k#, x# in <value> { k# != <key>; x# }", "every x# in <value> { f(x#) == <plain> }", "{<plain>, 1} == {1, <plain>}", "{<plain>: 1} == {<plain>: 1}", "[<plain>, 1] == [<plain>, 1.0]", "members[<plain>]", "members[{\"x\": <plain>}]", "keyed[<plain>] == <plain>", "nested[<key>][<key>]", "grouped[<key>][<plain>]",
		"is_number(<plain>)", "f(<plain>)", "not f(<plain>)", "g(<plain>, <plain>) == <scalar>", "count(<plain>) > 1", "not <plain> with <o>.a as <scalar>", "<rule> with data.base.n as <scalar>", "f(<plain>) == <scalar> with f as h",
	},
	"body": {"<bind>", "<bind>; <test>", "<test>; <bind>", "<bind>; w == <plain>", "<bind>; w != <scalar>; <test>"},
	"head": {"w", "w", "[w, 1]", "{\"x\": w}", "<const>", "<plain>"},

	"whole":   {"whole := <head> if { <seed> }\n", "default whole := <const>\n\nwhole := <head> if { <seed> }\n", "whole := <head> if { <seed> }\n\nwhole := <scalar> if { <low0> }\n", "whole := 1 if { <seed> } else := <scalar> if { <low0> } else := w if { <seed> }\n"},
	"members": {"members contains w if { <seed> }\n", "members contains {\"x\": w} if { <seed> }\n", "members contains [w, <scalar>] if { <seed> }\n", "members contains <const>\n"},
	"keyed":   {"keyed[w] := 1 if { <seed> }\n", "keyed[k] := v if { some k, v in <read> }\n", "keyed[{\"x\": w}] := <scalar> if { <seed> }\n", "keyed[v] := k if { some k, v in <read> }\n", "keyed[[w]] := w if { <seed> }\n"},
	"nested":  {"nested[k][w] := 1 if { some k in [\"x\", 1, null]; <seed> }\n", "nested[w][l] := l if { some l in [\"x\", <scalar>]; <seed> }\n", "nested[k][l] := v if { some k, m in <o>.d; some l, v in m }\n"},
	"grouped": {"grouped[w] contains <scalar> if { <seed> }\n", "grouped[k] contains w if { some k in [\"x\", 1, [1]]; <seed> }\n", "grouped[k] contains v if { some k, l in <o>; some v in l }\n"},
	"seed":    {"w := <read>", "some w in <read>", "some w, _ in <read>", "w := <const>", "[w, _] = <read>", "w := [<read>, <scalar>]", "w := {<read>: <read>}", "some v# in <read>; w := [v#, v#]", "w := <read> + 1", "{\"x\": w} = <read>", "walk(<read>, [_, w])"},
	"low0":    {"<read> == <scalar>", "<read>", "not <read>", "<read> < <read>", "some x# in <read>; x# == <scalar>"},
	"f":       {"f(x) := x if { <low0>; x == <scalar> }\n", "f(x) := [x] if { is_number(x) } else := <scalar> if { x == <scalar> } else := x.x\n", "default f(_) := <scalar>\n\nf(x) := x.x if { x != <scalar> }\n", "f(<scalar>) := <scalar>\n\nf(x) := x if { x != <scalar> }\n", "f([x, _]) := x\n\nf({\"x\": x}) := x\n", "f(x) := count(x)\n"},
	"g":       {"g(x, y) := y if { x == y } else := [x, y] if { x < y }\n", "g(x, x) := <scalar>\n\ng(x, y) := x if { x != y }\n", "g({\"x\": x}, y) := [x, y]\n\ng([x], x) := x\n", "g(x, y) := x[y]\n", "default g(_, _) := false\n\ng(x, 1) := x\n"},
	"other":   {"other := w if { <body> }\n", "other contains w if { <bind> }\n", "other[w] := <plain> if { <bind> }\n", "default other := 0\n\nother := w if { <body> }\n"},
	"chosen":  {"chosen := w if { <bind>; <test> } else := w if { <body> } else := <scalar>\n", "chosen if { <test> }\n", "chosen := <make>\n"},
	"deny":    {"deny contains w if { <body> }\n", "deny contains [w, <plain>] if { <body> }\n", "deny contains {\"msg\": w, \"details\": <plain>} if { <body> }\n"},
}

var angled = regexp.MustCompile(`<([a-z0-9{}]+)>`)

// form fills in one of the forms of a name.
func (w *kindWriter) form(name string, depth int) string {
	switch name {
	case "{", "}":
		return name
	}
	options := kinds[name]
	switch {
	case name == "plain" && depth > 9:
		options = kinds["scalar"]
	case name == "rule" && w.low:
		options = kinds["low"]
	}
	w.next++
	text := strings.ReplaceAll(options[w.IntN(len(options))], "#", w.suffix())
	return angled.ReplaceAllStringFunc(text, func(inner string) string { return w.form(inner[1:len(inner)-1], depth+1) })
}

func (w *kindWriter) suffix() string {
	letters := ""
	for n := w.next; n > 0; n /= 26 {
		letters += string(rune('a' + n%26))
	}
	return letters
}

func (w *kindWriter) policy() string {
	text := "package rules\n\nimport rego.v1\n\nh(_) := 3\n\n"
	for _, rule := range []string{"whole", "members", "keyed", "nested", "grouped", "f", "g", "other", "chosen", "deny", "deny"} {
		w.low = rule != "deny"
		for range 1 + w.IntN(2) {
			if rule == "other" && strings.Contains(text, "\nother") {
				continue // of which there is one kind only
			}
			if form := w.form(rule, 0); !strings.HasPrefix(form, "default ") || !strings.Contains(text, form[:strings.Index(form, ":=")]) {
				text += form + "\n"
			}
		}
	}
	return text
}

func (w *kindWriter) scalar() any {
	switch w.IntN(7) {
	case 0:
		return nil
	case 1:
		return w.IntN(2) == 0
	case 2, 3:
		return []any{"x", "y", "", "1"}[w.IntN(4)]
	default:
		return json.Number(kinds["number"][w.IntN(len(kinds["number"]))])
	}
}

func (w *kindWriter) value(depth int) any {
	switch w.IntN(5 + depth) {
	case 0, 1:
		list := []any{}
		for range w.IntN(3) {
			list = append(list, w.value(depth+1))
		}
		return list
	case 2, 3:
		object := map[string]any{}
		for _, key := range []string{"x", "y", "1", "x y"} {
			if w.IntN(2) == 0 {
				object[key] = w.value(depth + 1)
			}
		}
		return object
	}
	return w.scalar()
}

func (w *kindWriter) object() map[string]any {
	return w.nearCopy(map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "n", "namespace": "shop"},
		"a": w.scalar(), "b": w.scalar(), "c": w.scalar(), "l": []any{w.value(1), w.value(1)}, "m": map[string]any{"x": w.value(1), "y": w.value(1)},
		"d": map[string]any{"x": map[string]any{"y": w.scalar(), "x": w.scalar()}, "y": map[string]any{"x": w.value(1)}},
	})
}

// nearCopy changes one field.
func (w *kindWriter) nearCopy(object map[string]any) map[string]any {
	out := map[string]any{}
	for key, value := range object {
		out[key] = value
	}
	switch field := []string{"a", "b", "c", "l", "m"}[w.IntN(5)]; field {
	case "a", "b", "c":
		out[field] = w.scalar()
	default:
		out[field] = w.value(0)
	}
	return out
}
