//go:build !race

// Nothing here runs in two goroutines: the race detector would only make it slow.

package engine

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
)

// regoWriter writes random policies, of all that has a part in how values get from the
// input to a verdict.
type regoWriter struct {
	*rand.Rand
	next int
	low  bool // in a rule that the others use, which must not use them
}

func (w *regoWriter) pick(from ...string) string { return from[w.IntN(len(from))] }

func (w *regoWriter) name(prefix string) string {
	w.next++
	return prefix + strconv.Itoa(w.next)
}

var randomFields = []string{"a", "b", "c", "list", "map", "name"}

// path is a reference below a value.
func (w *regoWriter) path(base string) string {
	for range w.IntN(3) {
		switch w.IntN(8) {
		case 0:
			base += "[_]"
		case 1:
			base += `["list"]`
		case 2:
			base += "[0]"
		default:
			base += "." + w.pick(randomFields...)
		}
	}
	return base
}

func (w *regoWriter) items() string {
	if w.low {
		return "input.request.object.list"
	}
	return "items"
}

func (w *regoWriter) constant() string {
	return w.pick("1", "1", `"x"`, `"x"`, "true", `"y"`, "false", "null", "[]", `{"a": 1}`)
}

// reads is a reference, from the input or a variable on.
func (w *regoWriter) reads(vars []string) string {
	bases := []string{"input.request.object", "input.request.object.list[_]", "input.request.object.map"}
	if w.IntN(12) == 0 && !w.low {
		bases = []string{"input", "input.request", "input.request.object[_]", "input.parameters", "data.rules.whole", "data.rules.items[_]", "data.rules.by_name[_]", `data.rules.by_name.x`, "data.rules.consts"}
	}
	if len(vars) > 0 && w.IntN(3) > 0 {
		bases = vars
	}
	return w.path(w.pick(bases...))
}

// condition gives expressions, and the variables that they bind.
func (w *regoWriter) condition(vars []string, depth int) (string, []string) {
	read := func() string { return w.reads(vars) }
	bind := func(format string, args ...any) (string, []string) {
		name := w.name("v")
		return name + " := " + fmt.Sprintf(format, args...), []string{name}
	}
	inner := func(more ...string) string {
		body, _ := w.body(slices.Concat(vars, more), 1+w.IntN(2), depth+1)
		return body
	}
	choices := 30
	if w.low {
		choices = 25
	}
	if depth > 1 {
		choices = 19
	}
	switch w.IntN(choices) {
	case 0, 1:
		return bind("%s", read())
	case 2:
		name := w.name("e")
		return fmt.Sprintf("some %s in %s", name, read()), []string{name}
	case 3:
		key, value := w.name("k"), w.name("e")
		return fmt.Sprintf("some %s, %s in %s", key, value, read()), []string{value, key}
	case 4:
		return fmt.Sprintf("%s == %s", read(), w.constant()), nil
	case 5:
		return fmt.Sprintf("%s != %s", read(), read()), nil
	case 6:
		return read(), nil
	case 7:
		return "not " + read(), nil
	case 8:
		return fmt.Sprintf("%s(%s)", w.pick("f0", "f1", "f2"), read()), nil
	case 9:
		return fmt.Sprintf("not %s(%s)", w.pick("f0", "f1", "f2"), read()), nil
	case 10:
		return bind("%s(%s)", w.pick("f0", "f1", "f2"), read())
	case 11:
		return bind("object.get(%s, %s, %s)", read(), w.pick(`"a"`, `"name"`, `["list", 0]`, `["map", "a"]`, "input.request.object.name"), w.constant())
	case 12:
		return fmt.Sprintf("%s(%s)", w.pick("is_string", "is_object", "is_array"), read()), nil
	case 13:
		first, second := w.name("p"), w.name("p")
		return fmt.Sprintf("[%s, %s] = %s", first, second, w.pick(read(), "["+read()+", "+read()+"]")), []string{first, second}
	case 14:
		name := w.name("p")
		return fmt.Sprintf(`{"a": %s} = %s`, name, read()), []string{name}
	case 15:
		return fmt.Sprintf("g(%s, %s)", read(), w.pick(`"a"`, `"b"`, `"list"`)), nil
	case 16:
		return bind("g(%s, %s)", read(), w.pick(`"a"`, "input.request.object.name"))
	case 17:
		return fmt.Sprintf("%s in %s", w.pick(w.constant(), read()), read()), nil
	case 18:
		return fmt.Sprintf(`input.request.operation == %s`, w.pick(`"CREATE"`, `"UPDATE"`)), nil
	case 19:
		name := w.name("e")
		return bind("[%s | some %s in %s; %s]", w.path(name), name, w.pick(read(), w.items()), inner(name))
	case 20:
		name := w.name("e")
		return bind("{%s | some %s in %s; %s}", w.path(name), name, w.pick(read(), w.items()), inner(name))
	case 21:
		key, value := w.name("k"), w.name("e")
		return bind("{%s: %s | some %s, %s in %s; %s}", key, w.path(value), key, value, read(), inner(value))
	case 22:
		name := w.name("e")
		return fmt.Sprintf("every %s in %s { %s }", name, w.pick(read(), w.items()), inner(name)), nil
	case 23:
		return fmt.Sprintf("count(%s) > %d", w.pick(read(), w.items(), fmt.Sprintf("[x | some x in %s]", read())), w.IntN(2)), nil
	case 24:
		return fmt.Sprintf("f0(%s) with input.request.object%s as %s", read(), w.pick("", ".a", ".map"), w.pick(read(), w.constant())), nil
	case 25:
		return fmt.Sprintf(`whole with input as {"request": {"object": %s}}`, read()), nil
	case 26:
		value := w.name("e")
		return fmt.Sprintf("walk(%s, [_, %s])", read(), value), []string{value}
	case 27:
		return bind("json.filter(%s, [%s])", read(), w.pick(`"a"`, `"map/a"`))
	case 28:
		return fmt.Sprintf("by_name[%s]", w.pick(`"x"`, read())), nil
	default:
		return bind("[%s | some o in items][%d]", w.path("o"), w.IntN(2))
	}
}

func (w *regoWriter) body(vars []string, length, depth int) (string, []string) {
	var lines []string
	for range length {
		line, more := w.condition(vars, depth)
		lines, vars = append(lines, line), append(slices.Clip(vars), more...)
	}
	return strings.Join(lines, "; "), vars
}

func (w *regoWriter) rule(format string, vars []string, value func(vars []string) string) string {
	body, vars := w.body(vars, 1+w.IntN(2), 0)
	head := strings.ReplaceAll(value(vars), "[_]", "[0]") // a head iterates over nothing
	return fmt.Sprintf(format, head) + " if { " + body + " }\n"
}

func (w *regoWriter) policy() string {
	var out strings.Builder
	out.WriteString("package rules\n\nimport rego.v1\n\nconsts := [\"a\", \"list\"]\n")
	read := func(vars []string) string { return w.reads(vars) }
	w.low = true
	out.WriteString(w.rule("whole := %s", nil, w.single))
	out.WriteString("items contains o if { some o in " + w.path("input.request.object") + " }\n")
	out.WriteString(w.rule("items contains %s", nil, read))
	w.low = false
	out.WriteString("by_name[k] := o if { some k, o in " + w.path("input.request.object") + " }\n")
	for _, function := range []string{"f0", "f1", "f2"} {
		arg := []string{"arg"}
		switch w.IntN(5) {
		case 0:
			fmt.Fprintf(&out, "%s(arg) if { %s }\n", function, w.pick(w.path("arg"), "not "+w.path("arg"), w.path("arg")+" == "+w.constant()))
		case 1:
			fmt.Fprintf(&out, "%s(arg) := %s\n", function, w.path("arg"))
		case 2:
			fmt.Fprintf(&out, "%s(arg) := %s if { %s } else := %s if { %s } else := %s\n", function,
				w.path("arg.a"), w.path("arg.b"), w.path("arg"), w.path("arg.map"), w.constant())
		case 3:
			fmt.Fprintf(&out, "%s(arg) := r if { %s; r := arg.a }\n%s(arg) := r if { not arg.a; r := %s }\n", function, w.path("arg"), function, w.path("arg"))
		default:
			fmt.Fprintf(&out, "default %s(_) := %s\n", function, w.pick("false", "1"))
			fmt.Fprintf(&out, "%s(arg) if { %s }\n", function, w.reads(arg))
		}
	}
	out.WriteString("g(o, field) := o[field]\n")
	for range 1 + w.IntN(2) {
		out.WriteString(w.rule("deny contains %s", nil, w.message))
	}
	if w.IntN(2) == 0 {
		out.WriteString(w.rule(w.pick("warn contains %s", "warn := %s"), nil, w.single))
	}
	return out.String()
}

func (w *regoWriter) single(vars []string) string { return w.reads(vars) }

func (w *regoWriter) message(vars []string) string {
	switch w.IntN(5) {
	case 0:
		return w.reads(vars)
	case 1:
		return fmt.Sprintf(`{"msg": "m", "details": %s}`, w.reads(vars))
	case 2:
		return fmt.Sprintf(`{"msg": sprintf("%%v", [%s])}`, w.reads(vars))
	default:
		return fmt.Sprintf(`sprintf("%%v is %%v", [%s, %s])`, w.reads(vars), w.reads(vars))
	}
}

// value is a random part of an object.
func (w *regoWriter) value(depth int) any {
	choices := 10
	if depth > 3 {
		choices = 7
	}
	switch w.IntN(choices) {
	case 0, 1, 2:
		return w.pick("x", "x", "y")
	case 3, 4:
		return json.Number(w.pick("1", "1", "1", "0", "1.0"))
	case 5:
		return w.IntN(3) > 0
	case 6:
		return []any{nil, []any{}, map[string]any{}}[w.IntN(3)]
	case 7:
		list := []any{}
		for range 1 + w.IntN(2) {
			list = append(list, w.value(depth+1))
		}
		return list
	default:
		object := map[string]any{}
		for _, field := range randomFields {
			if w.IntN(4) > 0 {
				object[field] = w.value(depth + 1)
			}
		}
		return object
	}
}

func (w *regoWriter) object() map[string]any {
	object := map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "n", "namespace": "shop"}}
	for _, field := range randomFields {
		object[field] = w.value(1)
	}
	element := func() any {
		return map[string]any{"a": w.value(3), "b": w.value(3), "name": w.pick("x", "y"), "map": w.value(2), "list": w.value(2)}
	}
	object["list"] = []any{element(), element()}
	object["map"] = map[string]any{"a": element(), "b": w.value(2), "x": w.value(2)}
	return object
}

// nearCopy changes one place.
func (w *regoWriter) nearCopy(value map[string]any) map[string]any {
	return w.changed(value, 0).(map[string]any)
}

func (w *regoWriter) changed(value any, depth int) any {
	switch value := value.(type) {
	case map[string]any:
		if len(value) > 0 && (depth == 0 || w.IntN(4) > 0) {
			out := map[string]any{}
			fields := slices.Sorted(maps.Keys(value))
			changed := randomFields[w.IntN(len(randomFields))]
			if depth > 0 {
				changed = fields[w.IntN(len(fields))]
			}
			for _, field := range fields {
				out[field] = value[field]
			}
			if w.IntN(6) == 0 {
				delete(out, changed)
			} else {
				out[changed] = w.changed(value[changed], depth+1)
			}
			return out
		}
	case []any:
		if len(value) > 0 && w.IntN(4) > 0 {
			out := slices.Clone(value)
			i := w.IntN(len(out))
			out[i] = w.changed(out[i], depth+1)
			return out
		}
	}
	return w.value(depth)
}

// randomWriter writes policies and reviews.
type randomWriter interface {
	policy() string
	object() map[string]any
	nearCopy(object map[string]any) map[string]any
	IntN(n int) int
}
