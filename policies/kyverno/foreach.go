package kyverno

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	yaml "go.yaml.in/yaml/v3"
)

// patchEach translates a loop of mutate.foreach.
func (r *rule) patchEach(f field, outer []string) {
	r.onlyKeys(f, "list", "order", "context", "preconditions", "patchStrategicMerge", "patchesJson6902", "foreach")
	lines, end := r.loop(f, outer)
	defer end()
	switch {
	case f.get("patchStrategicMerge").exists():
		m := r.newMerge(f.get("patchStrategicMerge"))
		if tree, ok := m.at.value().(map[string]any); ok {
			m.mapping(tree, target{base: r.subject()}, lines)
		}
	case f.get("patchesJson6902").exists():
		r.elementPatches(f.get("patchesJson6902"), lines)
	case f.get("foreach").exists():
		for _, item := range f.get("foreach").items() {
			r.patchEach(item, lines)
		}
	default:
		r.add(f, "mutate.foreach without a patch", "add patchStrategicMerge or patchesJson6902")
	}
}

// loop begins a loop of foreach within the lines of outer loops. It returns the lines that select an
// element, and a function that ends the scope of the element and its variables.
func (r *rule) loop(f field, outer []string) (lines []string, end func()) {
	list := "kyverno.elements(" + r.expression(f.get("list"), strings.TrimSpace(f.get("list").text()), true) + ")"
	element := "element"
	if n := len(r.elements); n > 0 {
		element = fmt.Sprintf("element%d", n)
	}
	variables, elements := r.variables, r.elements
	r.variables = cloneMap(variables)
	r.elements = append(slices.Clone(elements), element)
	lines = slices.Concat(outer, []string{"some " + element + "_index, " + element + " in " + list, element + " != null"})
	r.context(f.get("context"))
	if preconditions := f.get("preconditions"); preconditions.exists() {
		for _, b := range r.conditionBlocks(preconditions) {
			lines = append(lines, r.statements(b, "precondition")...)
		}
	}
	return lines, func() { r.elements, r.variables = elements, variables }
}

// token stands for a variable while the YAML of a patch is read: U+E000 and U+E001 around its number.
var token = regexp.MustCompile("\uE000(\\d+)\uE001")

// elementPatches translates a JSON Patch in YAML about one element.
func (r *rule) elementPatches(f field, lines []string) {
	var sources []string
	var text strings.Builder
	source := f.text()
	if strings.ContainsAny(source, "\uE000\uE001") {
		r.add(f, "invalid patchesJson6902", "the patch contains characters for private use; remove them")
		return
	}
	for i := 0; i < len(source); {
		end := -1
		if strings.HasPrefix(source[i:], "{{") {
			if end = closing(source, i); end < 0 {
				r.add(f, "unterminated {{", "close the variable with }}, or write \\{{ for the text")
				return
			}
		}
		if end < 0 {
			text.WriteByte(source[i])
			i++
			continue
		}
		fmt.Fprintf(&text, "\uE000%d\uE001", len(sources))
		sources = append(sources, source[i:end])
		i = end
	}
	var operations []map[string]any
	if err := yaml.Unmarshal([]byte(text.String()), &operations); err != nil {
		r.add(f, "invalid patchesJson6902", err.Error())
		return
	}
	restored := func(text string) string {
		return token.ReplaceAllStringFunc(text, func(mark string) string { return sources[numberOf("x"+strings.Trim(mark, "\uE000\uE001")+"x")] })
	}
	for _, operation := range operations {
		path, _ := operation["path"].(string)
		r.elementPatch(f, fmt.Sprint(operation["op"]), restored(path), withTexts(operation["value"], restored), lines)
	}
	if len(operations) > 1 {
		r.add(f, "several operations in patchesJson6902", "write the rule as patch, with the operations in one list")
	}
}

// withTexts replaces the texts of a value.
func withTexts(value any, restored func(string) string) any {
	switch typed := value.(type) {
	case string:
		return restored(typed)
	case []any:
		out := make([]any, len(typed))
		for i, one := range typed {
			out[i] = withTexts(one, restored)
		}
		return out
	case map[string]any:
		out := map[string]any{}
		for key, one := range typed {
			out[key] = withTexts(one, restored)
		}
		return out
	}
	return value
}

// elementIndex is the part of a path that is the number of an element.
var elementIndex = regexp.MustCompile(`^\{\{\s*elementIndex(\d*)\s*\}\}$`)

// elementPatch translates one operation.
func (r *rule) elementPatch(f field, op, path string, value any, lines []string) {
	base, numbered := r.object, false
	var parts, arguments, below []string
	for _, part := range segments(path) {
		if found := elementIndex.FindStringSubmatch(part); found != nil {
			name := "element" + strings.TrimPrefix(found[1], "0") + "_index"
			if found[1] == "" {
				name = r.elements[len(r.elements)-1] + "_index"
			}
			parts, arguments, below, numbered = append(parts, "%d"), append(arguments, name), nil, true
			base = strings.TrimSuffix(name, "_index")
			continue
		}
		if strings.Contains(part, "{{") || part == "-" || decimal.MatchString(part) {
			r.add(f, "list in patchesJson6902", "write the rule as patch; it must find nothing to do on an object that it has changed")
			return
		}
		parts, below = append(parts, strings.ReplaceAll(part, "%", "%%")), append(below, strings.NewReplacer("~1", "/", "~0", "~").Replace(part))
	}
	if !numbered {
		r.add(f, "patch of another place in foreach", "write the rule as patch")
		return
	}
	pointer := fmt.Sprintf(`sprintf("/%s", [%s])`, strings.Join(parts, "/"), strings.Join(arguments, ", "))
	t := target{base: base, path: below, pointer: pointer}
	switch {
	case op == "remove" && len(below) == 0:
		name := r.module.helperName("removals")
		removal := append(slices.Clone(lines), `one := {"op": "remove", "path": `+pointer+"}")
		r.module.helpers = append(r.module.helpers, name+" := [one |\n"+indent(removal)+"]\n")
		r.changes = append(r.changes, []string{"count(" + name + ") > 0", "op := array.reverse(" + name + ")"})
	case op == "remove":
		r.changes = append(r.changes, append(slices.Clone(lines), t.current()+" != null", `op := {"op": "remove", "path": `+pointer+"}"))
	case op == "add", op == "replace":
		r.setElement(f, t, value, op, lines)
	default:
		r.add(f, "operation "+op+" in patchesJson6902", "use add, or write the rule as patch")
	}
}

var decimal = regexp.MustCompile(`^-?\d+$`)

// setElement emits a rule that sets a field of an element, or the element.
func (r *rule) setElement(f field, t target, value any, op string, lines []string) {
	term := r.template(f, value, true)
	if r.refusesOwn(t, term) {
		return
	}
	lines = append(slices.Clone(lines), "value := "+term, "value != null")
	if len(t.path) > 0 {
		lines = append(lines, t.current()+" != value")
		if op == "replace" {
			lines = append(lines, t.current()+" != null")
		}
	} else {
		lines = append(lines, t.base+" != value")
	}
	r.changes = append(r.changes, append(lines, `op := {"op": "add", "path": `+t.pointer+`, "value": value}`))
}

// settled finds replacements that do the same once and twice.
var settled = regexp.MustCompile(`^kyverno\.replaced\(.*, ("[^"]*"), ("[^"]*")\)$`)

// refusesOwn refuses a value that depends on the field that it replaces: patches are evaluated until
// nothing changes, and Kyverno's once. A replacement that finds nothing the second time settles.
func (r *rule) refusesOwn(t target, term string) bool {
	if len(r.elements) == 0 {
		return false
	}
	element := r.elements[len(r.elements)-1]
	own := []string{ref(element, t.path...), "kyverno.get(" + element + ", " + strings.TrimSuffix(literal(t.path), "]")}
	if len(t.path) == 0 {
		own = []string{element}
	}
	if !slices.ContainsFunc(own, func(one string) bool { return strings.Contains(term, one) }) {
		return false
	}
	if found := settled.FindStringSubmatch(term); found != nil && !strings.Contains(found[2], strings.Trim(found[1], `"`)) {
		return false
	}
	if len(t.path) == 1 && t.path[0] == "image" && strings.Contains(term, "kyverno.images(") && !strings.Contains(term, "element.image") {
		return false
	}
	r.add(r.field.get("mutate", "foreach"), "value that depends on the field it replaces", "Lintel evaluates patches until nothing changes; write the rule as patch with a condition that fails on a changed object")
	return true
}
