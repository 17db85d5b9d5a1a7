package restriction

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
)

// This file makes pairs of policies as people write them: about a user, a list of
// tools, a list of names and two objects, with every, comprehensions, objects, nested
// functions, arithmetic and functions of strings. It knows nothing of the analysis.

// tape records the choices behind a text, so that a text can be generated again with some of
// the choices changed.
type tape struct {
	random *rand.Rand
	drawn  []draw
	at     int
	// names differ from policy to policy, and nothing depends on them.
	names int
}

// draw is one choice. One of form leaves the meaning of the text as it is.
type draw struct {
	n    int
	form bool
}

func (t *tape) draw(n int, form bool) int {
	if t.at == len(t.drawn) {
		t.drawn = append(t.drawn, draw{t.random.IntN(1 << 20), form})
	}
	t.at++
	return t.drawn[t.at-1].n % n
}

func (t *tape) n(n int) int                 { return t.draw(n, false) }
func (t *tape) of(choices ...string) string { return choices[t.n(len(choices))] }

// as writes one meaning in one of several ways.
func (t *tape) as(forms ...string) string { return forms[t.draw(len(forms), true)] }

func (t *tape) name(prefix string) string {
	t.names++
	return fmt.Sprintf("%s%d", prefix, t.names)
}

// again plays the tape from the start, with choices changed.
func (t *tape) again(change func([]draw)) *tape {
	drawn := append([]draw{}, t.drawn...)
	change(drawn)
	return &tape{random: t.random, drawn: drawn, names: t.names}
}

func (t *tape) word() string   { return t.of(`"dev"`, `"admin"`, `"guest"`, `"int/a"`) }
func (t *tape) number() string { return t.of("0", "1", "2", "3", "5", "10") }

// text is an expression of a string of the input.
func (t *tape) text() string {
	return t.of("input.user.role", "input.mode", "input.user.team", `input.labels["env"]`, "input.labels.tier")
}

func (t *tape) quantity() string {
	return t.of("input.user.age", "input.n", `input.limits["cpu"]`, "input.limits.memory")
}

// sum is an expression of a number.
func (t *tape) sum() string {
	q := t.quantity()
	switch t.n(11) {
	case 0:
		return t.as(q+" + "+"1", "1 + "+q)
	case 1:
		return q + " * " + t.of("2", "3")
	case 2:
		return q + " - " + t.of("1", "2")
	case 3:
		return q + " + " + t.quantity()
	case 4:
		return t.of("abs", "ceil", "floor", "round") + "(" + q + ")"
	case 5:
		return t.of("max", "min") + "([" + q + ", " + t.number() + "])"
	case 6:
		return "to_number(" + t.text() + ")"
	case 7:
		v := t.name("v")
		return t.of("max", "min", "sum", "count") + "([" + v + ".risk | some " + v + " in input.tools])"
	case 8:
		return "count(" + t.of("input.names", "input.labels", `split(`+t.text()+`, "/")`, "{x | some x in input.names}") + ")"
	}
	return q
}

func (t *tape) comparison(left string) string {
	right := t.number()
	switch t.n(5) {
	case 0:
		return t.as(left+" > "+right, right+" < "+left)
	case 1:
		return t.as(left+" >= "+right, right+" <= "+left)
	case 2:
		return left + " < " + right
	case 3:
		return t.as(left+" <= "+right, right+" >= "+left)
	}
	return left + t.of(" == ", " != ") + right
}

// about is a condition on an expression of a string.
func (t *tape) about(text string) string {
	switch t.n(13) {
	case 0, 1:
		return text + " == " + t.word()
	case 2:
		return text + " != " + t.word()
	case 3:
		return text + ` in {"dev", "admin"}`
	case 4:
		return "not " + text + ` in ["guest", "admin"]`
	case 5:
		return t.of("startswith", "endswith", "contains") + "(" + text + `, ` + t.of(`"int/"`, `"d"`, `"in"`) + ")"
	case 6:
		return t.of("lower", "upper", "trim_space") + "(" + text + ") == " + t.of(`"dev"`, `"ADMIN"`)
	case 7:
		return "not " + t.of("startswith", "contains") + "(" + text + `, ` + t.of(`"int/"`, `"d"`) + ")"
	case 8:
		return `split(` + text + `, "/")[0] == ` + t.of(`"int"`, `"dev"`)
	case 9:
		return t.of(`concat("-", [`+text+`, "x"]) == "dev-x"`, `sprintf("%s/%s", ["a", `+text+`]) == "a/dev"`, `replace(`+text+`, "/", "-") == "int-a"`)
	}
	switch t.n(3) {
	case 0:
		return t.of(`trim_suffix(`+text+`, "/a") == "int"`, `split(`+text+`, "/")[1] == "a"`, `substring(`+text+`, 0, 3) == "dev"`, `indexof(`+text+`, "/") == 3`)
	case 1:
		return t.of(`"dev" in split(`+text+`, "/")`, `concat("/", [`+text+`, `+t.text()+`]) == "int/a"`, `trim(`+text+`, "/a") == "int"`, `concat("", ["a", `+text+`]) != "adev"`)
	}
	return `trim_prefix(` + text + `, "int/") == ` + t.of(`"a"`, `"dev"`)
}

// ofTool is a condition on a tool.
func (t *tape) ofTool(tool string, depth int) string {
	switch t.n(9) {
	case 0, 1:
		return t.comparison(tool + ".risk")
	case 2, 3:
		return t.about(tool + ".name")
	case 4:
		return t.of("", "not ") + tool + ".safe"
	case 5:
		return tool + ".safe == true"
	case 6:
		return t.word() + " in " + tool + ".tags"
	case 7:
		return tool + ".name == " + t.text()
	}
	if depth == 0 {
		return tool + ".name in input.names"
	}
	tag := t.name("tag")
	inner := t.about(tag)
	if t.n(2) == 0 {
		return "every " + tag + " in " + tool + ".tags { " + inner + " }"
	}
	return t.as("some "+tag+" in "+tool+".tags\n\t"+inner, tag+" := "+tool+".tags[_]\n\t"+inner)
}

// group is a collection, with a condition on an element of it.
func (t *tape) group(depth int) (in, element, condition string) {
	element = t.name("v")
	switch t.n(4) {
	case 0:
		in, condition = "input.names", t.about(element)
	case 1:
		in, condition = "input.labels", t.about(element)
	default:
		in, condition = "input.tools", t.ofTool(element, depth)
		if t.n(3) == 0 {
			condition += "\n\t" + t.ofTool(element, depth)
		}
	}
	return in, element, condition
}

func braces(body string) string { return strings.ReplaceAll(body, "\n\t", "; ") }

// condition is one of a body.
func (t *tape) condition(depth int) string {
	switch t.n(17) {
	case 0:
		return t.comparison(t.sum())
	case 1, 2:
		return t.about(t.text())
	case 3:
		in, v, c := t.group(depth)
		return t.as("some "+v+" in "+in+"\n\t"+c, v+" := "+in+"[_]\n\t"+c)
	case 4, 5:
		in, v, c := t.group(depth)
		// A scalar has no elements, but every does not hold of it.
		return "every " + v + " in " + in + " { " + braces(c) + " }"
	case 6:
		in, v, c := t.group(depth)
		return t.as("count(["+v+" | some "+v+" in "+in+"; "+braces(c)+"]) == 0",
			"count({"+v+" | some "+v+" in "+in+"; "+braces(c)+"}) == 0",
			"count({"+v+" | "+v+" := "+in+"[_]; "+braces(c)+"}) == 0",
			"{"+v+" | some "+v+" in "+in+"; "+braces(c)+"} == set()")
	case 7:
		in, v, c := t.group(depth)
		return "count([" + v + " | some " + v + " in " + in + "; " + braces(c) + "]) " + t.of("> 0", ">= 1", "< 2", "<= 1", "== 1", "> 1")
	case 8:
		v := t.name("v")
		set := "{" + v + ".name | some " + v + " in input.tools; " + braces(t.ofTool(v, 0)) + "}"
		switch t.n(5) {
		case 0:
			return t.word() + " in " + set
		case 1:
			return "not " + t.word() + " in " + set
		case 2:
			return "count(" + set + ` - {"dev", "admin"}) == 0`
		case 3:
			return "count(" + set + ` & {"guest", "admin"}) ` + t.of("== 0", "> 0")
		}
		return set + " == " + t.of(`{"dev"}`, `{"dev", "admin"}`, "set()")
	case 9:
		k, v := t.name("k"), t.name("v")
		body := t.about(v)
		switch t.n(4) {
		case 0:
			return "every " + k + ", " + v + " in input.labels { " + t.as(k+` != "owner"`, `"owner" != `+k) + "; " + body + " }"
		case 1:
			return "some " + k + ", " + v + " in input.labels\n\tstartswith(" + k + `, "in")` + "\n\t" + body
		case 2:
			return "some " + k + "\n\tinput.limits[" + k + "] > " + t.number()
		}
		return "every " + k + ", " + v + " in input.limits { " + t.comparison(v) + "; " + k + ` != "" }`
	case 10:
		k, v := t.name("k"), t.name("v")
		made := "{" + k + ": " + v + " | some " + k + ", " + v + " in input.labels; " + v + ` != "guest"}`
		return t.of(made+".env == "+t.word(), "count("+made+") == 0", made+`["tier"] != `+t.word(), "every "+v+"x in "+made+" { "+t.about(v+"x")+" }")
	case 11:
		switch t.n(4) {
		case 0:
			return `object.get(input, "mode", "dev") == ` + t.word()
		case 1:
			return `object.get(input.labels, "env", "none") ` + t.of("==", "!=") + " " + t.word()
		case 2:
			return "input.labels[input.mode] == " + t.word()
		}
		return `object.get(input.limits, "cpu", 0) ` + t.of("<", ">") + " " + t.number()
	case 12:
		return "not " + t.of(t.text(), "input.user.guest", "input.blocked", t.text()+" == "+t.word(), t.comparison(t.quantity()))
	case 13:
		return t.of("trusted", "not trusted", "weight("+t.text()+") "+t.of("> 1", "== 1", "< 2"), "open("+t.text()+", "+t.quantity()+")", "not open("+t.text()+", "+t.quantity()+")",
			"every w in input.tools { fine(w) }", "some w in input.tools\n\tnot fine(w)", "all_fine",
			"every w in input.tools { index[w.name] "+t.of("> 1", "== 2")+" }", `every w in ["dev", "admin"] { index[w] == `+t.of("2", "3")+" }", "every w in input.names { weight(w) == 1 }",
			t.word()+" in approved", "count(approved) == 0", "index.dev", "index[input.mode] > 1", "index.dev == 2", "not index.admin")
	case 14:
		v := t.name("v")
		return "sum([" + v + ".risk | some " + v + " in input.tools]) " + t.of("<= 10", "< 5", "== 0")
	case 15:
		return t.of("sort(input.names)[0] == "+t.word(), `concat(",", input.names) == "dev,admin"`, `concat(",", sort(input.names)) != "dev"`, t.word()+" in sort(input.names)", `array.concat(input.names, ["dev"])[0] == `+t.word(), "count(sort(input.names)) > 1")
	}
	return t.of("input.names[0] == "+t.word(), "is_string("+t.text()+")", "is_number("+t.quantity()+")", "input.user.role == input.mode", "count(input.names) "+t.of("> 0", "== 0", "< 3"),
		"input.user.guest == false", t.text()+" == "+t.text(), t.quantity()+" < "+t.quantity(), `count(input.user.role) > 3`)
}

func (t *tape) body(depth int) string {
	var parts []string
	for range 1 + t.n(3) {
		parts = append(parts, t.condition(depth))
	}
	return strings.Join(parts, "\n\t")
}

// helpers are what conditions refer to.
func (t *tape) helpers() string {
	tag := t.name("t")
	return t.of("trusted if { "+braces(t.about("input.user.role"))+" }\ntrusted if { "+t.comparison("input.user.age")+" }", "default trusted := false\ntrusted if { "+t.about("input.mode")+" }", "trusted := input.user.trusted") + "\n" +
		t.of(`weight("dev") := 1
weight("admin") := 2`, `default weight(_) := 0
weight(x) := 2 if x in {"dev", "admin"}`, `weight(x) := 1 if { startswith(x, "int") } else := 2 if { x == "dev" } else := 3`, `weight(x) := count(x)`) + "\n" +
		t.of(`open(x, n) if { weight(x) > 1; n < `+t.number()+" }", `open(x, n) if { x == "dev" }
open(x, n) if { not weight(x) > 1; n > `+t.number()+" }", `open(x, n) if { lower(x) == "dev"; n + 1 > `+t.number()+" }") + "\n" +
		t.of("fine(w) if { w.risk < "+t.number()+"; not banned(w.name) }", "fine(w) if { w.safe }\nfine(w) if { weight(w.name) == 1 }", "fine(w) if { every "+tag+" in w.tags { "+t.about(tag)+" } }") + "\n" +
		t.of(`banned(n) if n == "guest"`, `banned(n) if startswith(n, "int/")`, `banned(n) if n in input.names`) + "\n" +
		"all_fine if { every w in input.tools { fine(w) } }\n" +
		t.of("approved := {n | some n in input.names; not banned(n)}", `approved contains n if { some n in input.names; n != "guest" }
approved contains input.mode if trusted`, `approved := {"dev", "admin"}`) + "\n" +
		t.of(`index := {w.name: w.risk | some w in input.tools}`, `index[k] := v if { some k, v in input.limits }`, `index := {"dev": input.n, "admin": 2}`,
			`index[w.name] := w.risk if { some w in input.tools }`, "index.dev := 2 if trusted\nindex.dev := input.n\nindex.admin := 3 if { "+braces(t.about("input.mode"))+" }") + "\n"
}

// value is a value of a decision.
func (t *tape) value(decision string) string {
	switch decision {
	case "max_tokens":
		return t.of("1", "10", "100", "input.n", "count(input.names)", "input.n * 2")
	case "allowed_models":
		return t.of(`{"dev", "admin"}`, `["dev"]`, "approved", "{n | some n in input.names; not banned(n)}", `[n | some n in input.names; n != "guest"]`)
	case "autonomy_level":
		return t.of(`"autonomous"`, `"notify"`, `"approve"`, `"block"`, `"blocked"`)
	}
	return "true"
}

// policy is the text of one, of which a child adds conditions to all bodies.
func (t *tape) policy(decision string, further func() string) string {
	text := "package openclaw.enterprise.models\nimport rego.v1\n" + t.helpers()
	if t.n(3) == 0 && decision == "allow" {
		text += "default allow := false\n"
	}
	for range 1 + t.n(2) {
		text += decision + " := " + t.value(decision) + " if {\n\t" + t.body(1) + further() + "\n}\n"
	}
	return text
}

// richerPairs are a parent and what makes children of it: with further conditions, in other
// words, with one choice changed, both of that, or of their own.
func richerPairs(random *rand.Rand) (decision, parent string, child func() string) {
	decision = []string{"allow", "allow", "allow", "allow", "max_tokens", "allowed_models", "autonomy_level"}[random.IntN(7)]
	nothing := func() string { return "" }
	first := &tape{random: random}
	parent = first.policy(decision, nothing)
	return decision, parent, func() string {
		other := &tape{random: random, names: 1000}
		further := func() string {
			if random.IntN(3) == 0 {
				return ""
			}
			return "\n\t" + other.condition(1)
		}
		reworded := func(drawn []draw) {
			for i := range drawn {
				if drawn[i].form {
					drawn[i].n = random.IntN(1 << 20)
				}
			}
		}
		changed := func(drawn []draw) { drawn[random.IntN(len(drawn))].n = random.IntN(1 << 20) }
		switch random.IntN(10) {
		case 0, 1, 2:
			return first.again(func([]draw) {}).policy(decision, further)
		case 3, 4:
			return first.again(reworded).policy(decision, further)
		case 5, 6:
			return first.again(changed).policy(decision, nothing)
		case 7, 8:
			return first.again(func(drawn []draw) { reworded(drawn); changed(drawn); changed(drawn) }).policy(decision, further)
		}
		return other.policy(decision, nothing)
	}
}

// richerInput is an input of the shape that the policies are about, more or less.
func richerInput(random *rand.Rand) ast.Value {
	pick := func(values ...any) any { return values[random.IntN(len(values))] }
	word := func() any {
		return pick("dev", "admin", "guest", "int/a", "Dev", "in", "d", "", " dev ", "int/dev", pick(nil, 3, true, false))
	}
	number := func() any { return pick(0, 1, 2, 3, 4, 5, 10, -1, 1.5, 2.5, 11, pick("5", nil, true)) }
	members := func(into map[string]any, some ...func() (string, any)) map[string]any {
		for _, member := range some {
			if name, value := member(); random.IntN(6) > 0 {
				into[name] = value
			}
		}
		return into
	}
	list := func(element func() any) any {
		all := []any{}
		for range random.IntN(4) {
			all = append(all, element())
		}
		if random.IntN(12) == 0 {
			return pick("dev", nil, 1, map[string]any{"env": "dev"})
		}
		return all
	}
	is := func(name string, value func() any) func() (string, any) {
		return func() (string, any) { return name, value() }
	}
	flag := func() any { return pick(true, false, true, false, "dev") }
	tool := func() any {
		if random.IntN(10) == 0 {
			return word()
		}
		return members(map[string]any{}, is("name", word), is("risk", number), is("safe", flag), is("tags", func() any { return list(word) }))
	}
	value, err := ast.InterfaceToValue(members(map[string]any{},
		is("user", func() any {
			return members(map[string]any{}, is("role", word), is("team", word), is("age", number), is("guest", flag), is("trusted", flag))
		}),
		is("mode", word), is("n", number), is("blocked", flag),
		is("names", func() any { return list(word) }), is("tools", func() any { return list(tool) }),
		is("labels", func() any {
			return members(map[string]any{}, is("env", word), is("tier", word), is("owner", word), is("int", word))
		}),
		is("limits", func() any {
			return members(map[string]any{}, is("cpu", number), is("memory", number), is("dev", number))
		})))
	if err != nil {
		panic(err) // it is made of JSON
	}
	return value
}
