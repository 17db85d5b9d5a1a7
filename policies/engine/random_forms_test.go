//go:build !race

// Nothing here runs in two goroutines: the race detector would only make it slow.

package engine

import (
	"maps"
	"slices"
	"strconv"
	"strings"
)

// formWriter writes random policies from forms in which values go from the input to a
// verdict by way of rules, and are compared with few constants: so that a small change
// of the input often changes the verdict.
type formWriter struct {
	*regoWriter
	stage string // which forms of values a rule may use, so that rules are not recursive
}

const formObject = "input.request.object"

// forms are what stands for a $ and a letter. Where there are several, one is picked. A #
// is a number of its own for each form.
var forms = map[string][]string{
	"o": {formObject},
	"c": {`"x"`, `"x"`, `"y"`, `"a"`},
	"k": {"a", "b", "x"},
	"i": {"0", "1"},
	// a value of the input, a map of them, a list of maps, and a map of maps
	"s": {"$o.a", "$o.b", "$o.name", "$o.map.$k", "$o.list[$i].$k"},
	"m": {"$o.map", "$o.map", "$o.deep.$k", "$o.list[$i]"},
	"l": {"$o.list"},
	"d": {"$o.deep"},
	// a value of any kind
	"r": {"$s", "$s", "$c", "$v", "$R", "$R"},
	// rules, in the order in which they may use each other
	"0": {"$s"},
	"1": {"p.$k", "p.$k", "q.$k.$k", "q.$k.$k", "p[$s]", "q[$s].$k", "q.$k[$s]"},
	"2": {"$1", "$1", "f($r, $r)", "f($c, $r)", "g($r)", "g($c)"},
	"3": {"$2", "$2", "r0", "r1", "r2", "r3"},

	"condition0": {"$s == $c", "$s != $c", "$s == $s", "$s"},
	"condition1": {
		"$r == $c", "$R == $c", "$r != $c", "$r == $r", "$R", "not $R", "not $R == $c",
		"v# := $R; v# == $c", "v# := $R; v# != $c", "v# := $r; w# := v#; w# == $c",
		"v# := $R; $m[v#] == $c", "$m[$r] == $c", "$d[$r][$R] == $c", "not $m[$R]",
		"object.get($m, $R, $c) == $c", "object.get($o, [$K, $R], $c) == $c", "v# := object.get($m, $R, $r); v# == $c",
		"v# := $R; object.get($m, v#, $c) == $c", "v# := object.get(p, $r, $c); v# == $c", "v# := object.get(q, [$r, $K], $c); v# == $c",
		"p[$r]", "not p[$r]", "p[k#]; k# == $K", "p[k#] == $c", "count(p) > $i", `p[k#]; k# == "never"`, "v# := p; v#.$k == $c", "some k#, v# in p; v# == $c",
		"q[k#][l#] == $c", "q[$r][l#] == $c", "q[k#].$k == $c", "count(q.$k) > $i", "v# := q.$k; v#.$k == $c", "v# := q; v#[_].$k == $c", `q[k#]; k# == "never"`,
		`s[[x#, "k"]]; $m[x#] == $c`, "s[[$r, y#]]; y# == $c", "[x | s[[_, x]]][0] == $c", "[x | some [_, x] in s][$i] == $c", "count(s) > $i", "$r in t[$r]", "count(t.$k) > $i",
		"count({1 | n# = $r; n# == $c}) == $i; count([1 | n# = {m | m = s[_]}; n#[_]]) > $i",
		"count({1 | n# = $m; n#.$k == $c}) == $i; [e | n# = {m | m = s[_]}; e = n#[_][_]][$i] == $c",
		"[e | n# = s; [e, _] = n#[_]][$i] == $c; count({1 | n# = $m; n#.$k}) == $i",
		"count({1 | n# = $m; n#.$k == $c}) == $i; [e.$k | n# = {m | m = $l[_]}; e = n#[_]][$i] == $c", "count({1 | n# = $s; n#.$k}) == 0; [e.$k | n# = {m | m = u[_]}; e = n#[_]][$i] == $c",
		"[e.$k | some e in u][$i] == $c", "count(u) > $i", "count([1 | some e in u; e.$k == $c]) > $i",
		"$r in {$c, $r}", "{$r: 1, $c: 1}[$R] == 1", "[$r, $c] == [$c, $r]", "[v#, $c] = [$R, $r]; v# == $c", "every e# in $l { e#.$k != $R }", "[1 | some e in $l; e.$k == $R; e.name != $c][0] == 1",
	},
	"condition2": {
		"$condition1", "$condition1", "f($r, $r) == $c", "f($c, $r) == $c", "v# := f($r, $c); v# == $c", "g($c) == $c", "g($r)", "not g($r)", "not g($c)", "v# := g($r); g(v#) == $c",
		`v# := sprintf("%v", [$r]); v# == "x"`, `v# := concat("-", [$r, $r]); v# != "x-y"`, `v# := sprintf("%v", [$R]); $m[v#] == $c`, `v# := concat("", [$R]); g(v#) == $c`,
	},
	"condition3": {"$condition1", "$condition2", "r0 == $c", "v# := r0; v# == $c", "v# := r1; v# == $c", "r1 != $c", "not r2", "v# := r2; v# == $c", "v# := r3; v# == $c", "$R == $c with $o.$k as $r", "v# := $R with $o.map as $m; v# == $c"},

	// Objects of rules with constant keys, with variable keys, and, which is never
	// remembered, with both.
	"p constant": {
		"p.$k := $r if { $C }\n", "p.$k := $r if { $C }\n", "p.$k := $r\n", "p.$k := $c if { $C }\n", "p.$k := $c\n",
	},
	"p variable": {
		"p[k] := v if { some k, v in $m }\n", "p[k] := v if { some k, v in $m }\n", "p[k] := v if { some k, v in $m; $C }\n",
		"p[k] := $r if { k := $s }\n", "p[e.name] := e.$k if { some e in $l }\n", "p[k] := $c if { some k, v in $m; v == $c }\n",
	},
	"q constant": {
		"q.$k.$k := $r if { $C }\n", "q.$k.$k := $r\n", "q.$k.$k := $c if { $C }\n", "q.$k.$k := $r\n",
	},
	"q variable": {
		"q[k][l] := v if { some k, w in $d; some l, v in w }\n", "q[k][l] := v if { some k, w in $d; some l, v in w }\n", "q[k][l] := v if { some k, w in $d; some l, v in w; $C }\n",
		"q[e.name].$k := e.$k if { some e in $l }\n", "q[$s][l] := $r if { l := $s }\n",
	},
	"q mixed": {"q.$k[l] := v if { some l, v in $m }\n"},
	"sets": {
		"s contains [e.name, \"k\"] if { some e in $l }\n", "s contains [e.$k, e.name] if { some e in $l }\n", "s contains [$r, $r] if { $C }\n",
		"u contains e if { some e in $l }\n", "u contains e if { some e in $d }\n",
	},
	"t constant": {"t.$k contains $r if { $C }\n"},
	"t variable": {"t[e.name] contains e.$k if { some e in $l }\n"},
	"f": {
		"f($c, y) := y\n", "f($c, y) := $r if { y == $c }\n", "f(x, y) := x if { x != $c; y == $c }\n", "f(x, y) := $m[x] if { y != $c }\n", "f(x, _) := $r if { x == $c; $C }\n",
		"f(x, y) := y if { x == $c } else := $r if { y == $c } else := $c\n", "default f(_, _) := $c\n",
	},
	"g": {"g($c) := $r\n", "g(x) := x if { x != $c }\n", "g(x) := $c if { x == $c; $C }\n", "g(x) := $m[x]\n", "g(x) := object.get($m, x, $c)\n", "g($c) := $c if { $C } else := $r\n"},
	"complete": {
		"default r0 := $c\n", "r0 := $r if { $C }\n", "r0 := $R\n", "r0 := v if { v := $R; $C }\n",
		"r1 := $r if { $C } else := $r if { $C } else := $r\n", "r1 := $c if { $C } else := v if { v := $R }\n", "r1 := $c if { $C } else := $c if { $C }\n",
		"r2 := y if { s[[x, \"k\"]]; y := $m[x] }\n", "r2 := $m[$R] if { $C }\n", "r2 := p[k] if { some k in [$r, $K] }\n", "r2 := y if { y := p.$k }\n",
		"r3 := v if { some v in $m; v == $c }\n", "r3 := q[k].$k if { k := $r }\n", "default r3 := $c\n",
	},
	"deny": {
		"deny contains \"no\" if { v := p.$k; v == $c; $condition0 }\n", "deny contains \"no\" if { v := $R; v == $c; $condition0 }\n", "deny contains \"no\" if { $1 == $c }\n",
		"deny contains \"no\" if { p[k]; k == \"never\" }\n", "deny contains \"no\" if { $condition1 }\n",
		"deny contains \"no\" if { $C }\n", "deny contains \"no\" if { $C }\n", "deny contains \"no\" if { $C; $C }\n", "deny contains \"no\" if { v := $R; v == $c; $C }\n",
		"deny contains m if { m := sprintf(\"%v is %v\", [$r, $R]); m != \"x is y\"; $C }\n", "deny contains m if { m := concat(\" \", [$r, $R]); $m[$R] == m }\n",
		"deny contains m if { m := sprintf(\"%v\", [$R]); $m[m] == $c }\n", "deny contains m if { $C; m := $R }\n", "warn contains \"no\" if { $C }\n",
	},
}

// form fills in a form.
func (w *formWriter) form(name string) string {
	options := forms[name]
	text := options[w.IntN(len(options))]
	number := w.name("")
	text = strings.ReplaceAll(text, "#", number)
	var out strings.Builder
	for {
		before, after, found := strings.Cut(text, "$")
		out.WriteString(before)
		if !found {
			break
		}
		name, rest := after[:1], after[1:]
		for _, long := range []string{"condition0", "condition1", "condition2"} {
			if strings.HasPrefix(after, long) {
				name, rest = long, after[len(long):]
			}
		}
		switch name {
		case "C": // a condition of this stage
			out.WriteString(w.form("condition" + w.stage))
		case "R": // a value of a rule
			out.WriteString(w.form(w.stage))
		case "K":
			out.WriteString(strconv.Quote(w.form("k")))
		case "v":
			out.WriteString(w.form("s"))
		default:
			out.WriteString(w.form(name))
		}
		text = rest
	}
	return out.String()
}

func (w *formWriter) policy() string {
	out := "package rules\n\nimport rego.v1\n\n"
	add := func(stage, form string, least, most int) {
		w.stage = stage
		for range least + w.IntN(most-least+1) {
			text := w.form(form)
			if name, _, _ := strings.Cut(text, " :="); !strings.HasPrefix(name, "default ") || !strings.Contains(out, name) {
				out += text
			}
		}
	}
	// every name has a rule
	keys := []string{" constant", " variable"}
	of := map[string]string{"p": keys[w.IntN(2)], "q": keys[w.IntN(2)], "t": keys[w.IntN(2)]}
	out += map[string]string{keys[0]: "p.z := \"z\"\n\n", keys[1]: "p[k] := \"z\" if { some k in [\"z\"] }\n\n"}[of["p"]]
	out += map[string]string{keys[0]: "q.z.z := \"z\"\n\n", keys[1]: "q[k].z := \"z\" if { some k in [\"z\"] }\n\n"}[of["q"]]
	out += map[string]string{keys[0]: "t.z contains \"z\"\n\n", keys[1]: "t[k] contains \"z\" if { some k in [\"z\"] }\n\n"}[of["t"]]
	out += "s contains [\"z\", \"k\"]\n\nu contains {\"z\": \"z\"}\n\nf(\"never\", _) := \"z\"\n\ng(\"never\") := \"z\"\n\n"
	for _, rule := range []string{"r0", "r1", "r2", "r3"} {
		out += rule + " := \"z\" if input.never\n\n"
	}
	add("0", "p"+of["p"], 1, 3)
	add("0", "q"+of["q"], 1, 2)
	if w.IntN(12) == 0 {
		of["p"], of["q"] = keys[w.IntN(2)], " mixed"
		add("0", "p"+of["p"], 0, 1)
		add("0", "q"+of["q"], 0, 1)
	}
	add("0", "t"+of["t"], 0, 1)
	add("0", "sets", 1, 2)
	add("1", "f", 1, 2)
	add("1", "g", 1, 2)
	add("2", "complete", 2, 4)
	add("3", "deny", 1, 3)
	return out
}

// object is one of few values in the shape that the forms read.
func (w *formWriter) object() map[string]any {
	maps := func() map[string]any {
		return map[string]any{"a": w.scalar(), "b": w.scalar(), "x": w.scalar(), "name": w.scalar()}
	}
	return map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "n", "namespace": "shop"},
		"a": w.scalar(), "b": w.scalar(), "name": w.scalar(), "map": maps(), "list": []any{maps(), maps()},
		"deep": map[string]any{"a": maps(), "b": maps(), "x": maps()},
	}
}

func (w *formWriter) scalar() any {
	switch w.IntN(14) {
	case 0:
		return false
	case 1:
		return 1
	}
	return w.pick("x", "x", "y", "a", "b")
}

// nearCopy changes one value, or leaves it out.
func (w *formWriter) nearCopy(object map[string]any) map[string]any {
	return w.changed(object, "").(map[string]any)
}

func (w *formWriter) changed(value any, name string) any {
	switch value := value.(type) {
	case map[string]any:
		out, fields := map[string]any{}, []string{}
		for _, field := range slices.Sorted(maps.Keys(value)) {
			out[field] = value[field]
			if name != "" || field != "apiVersion" && field != "kind" && field != "metadata" {
				fields = append(fields, field)
			}
		}
		if len(fields) == 0 {
			return out
		}
		field := fields[w.IntN(len(fields))]
		if out[field] = w.changed(value[field], field); w.IntN(10) == 0 {
			delete(out, field)
		}
		return out
	case []any:
		out := append([]any{}, value...)
		i := w.IntN(len(out))
		out[i] = w.changed(out[i], name)
		return out
	}
	return w.scalar()
}
