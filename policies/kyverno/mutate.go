package kyverno

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	yaml "go.yaml.in/yaml/v3"
)

// mutate translates mutate to rules patch.
func (r *rule) mutate(f field) {
	r.onlyKeys(f, "patchStrategicMerge", "patchesJson6902", "foreach", "targets", "mutateExistingOnPolicyUpdate")
	switch {
	case f.get("targets").exists():
		r.add(f.get("targets"), "mutate.targets", "Lintel changes only the object of a request; change existing objects with a GitOps tool")
	case f.get("patchStrategicMerge").exists():
		m := r.newMerge(f.get("patchStrategicMerge"))
		if tree, ok := m.at.value().(map[string]any); ok {
			m.mapping(tree, target{base: r.subject()}, nil)
		}
	case f.get("patchesJson6902").exists():
		r.jsonPatches(f.get("patchesJson6902"), nil)
	case f.get("foreach").exists():
		for _, item := range f.get("foreach").items() {
			r.patchEach(item, nil)
		}
	}
}

// target is a value that is changed: a reference, the fields below, and the JSON Pointer to the
// reference as a term, empty for the object itself.
type target struct {
	base    string
	path    []string
	pointer string
}

func (t target) below(key string) target {
	t.path = append(slices.Clone(t.path), key)
	return t
}

// current is the term of the present value: null if it is missing.
func (t target) current() string { return "object.get(" + t.base + ", " + literal(t.path) + ", null)" }

// location is the term of the JSON Pointer.
func (t target) location() string {
	var b strings.Builder
	for _, key := range t.path {
		b.WriteString("/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(key))
	}
	if t.pointer == "" {
		return literal(b.String())
	}
	return `concat("", [` + t.pointer + ", " + literal(b.String()) + "])"
}

// merge translates a strategic merge patch.
type merge struct {
	*rule
	at field
	// loops counts the loops over elements, which have variables of their own.
	loops int
}

func (r *rule) newMerge(at field) *merge {
	return &merge{rule: r, at: at}
}

func (m *merge) refuse(construct, hint string) { m.add(m.at, construct, hint) }

// pointerTo completes a target with the pointer to the Pod template.
func (r *rule) pointerTo(t target) target {
	if t.base == "pod" && t.pointer == "" {
		t.pointer = "pod_path"
	}
	return t
}

// mapping emits a rule for each value below a map.
func (m *merge) mapping(tree map[string]any, t target, guards []string) {
	for _, key := range sortedKeys(tree) {
		value := tree[key]
		mark, name := plain, key
		if found := anchor.FindStringSubmatch(strings.TrimSpace(key)); found != nil {
			mark, name = found[1], found[2]
		}
		if hasVariable(name) {
			m.variableKey(name, value, t, guards)
			continue
		}
		child := t.below(name)
		switch {
		case mark == condition && isScalar(value) && !isObject(t.base):
			m.refuse("condition inside of a list element in patchStrategicMerge", "use preconditions")
		case mark == condition && isScalar(value):
			m.applies = append(m.applies, "kyverno.matches(object.get("+t.base+", "+literal(child.path)+", null), "+m.template(m.at, value, false)+")")
		case mark == addition:
			m.set(child, value, append(slices.Clone(guards), child.current()+" == null"))
		case mark != plain:
			m.refuse("anchor "+mark+"( ) in patchStrategicMerge", "use preconditions")
		default:
			m.value(child, value, guards)
		}
	}
}

func (m *merge) value(t target, value any, guards []string) {
	switch typed := value.(type) {
	case nil:
		m.refuse("null in patchStrategicMerge", "use patchesJson6902 with remove")
	case map[string]any:
		if len(typed) == 0 {
			m.refuse("empty map in patchStrategicMerge", "write the rule as patch")
		}
		m.mapping(typed, t, guards)
	case []any:
		m.list(t, typed, guards)
	default:
		m.set(t, value, guards)
	}
}

// list emits rules for the elements that conditions select, and for those with merge keys.
func (m *merge) list(t target, list []any, guards []string) {
	field := t.path[len(t.path)-1]
	if !slices.ContainsFunc(list, func(one any) bool { return !isScalar(one) }) {
		m.set(t, list, guards)
		return
	}
	if m.isAtomic(field) && !hasAnchors(list) {
		m.set(t, list, guards)
		return
	}
	var keyed []map[string]any
	for _, one := range list {
		tree, _ := one.(map[string]any)
		var conditions []string
		rest := map[string]any{}
		index, element := m.loopNames()
		for key, value := range tree {
			if found := anchor.FindStringSubmatch(strings.TrimSpace(key)); found != nil && found[1] == condition && isScalar(value) {
				conditions = append(conditions, "kyverno.matches("+ref(element, found[2])+", "+m.template(m.at, value, false)+")")
			} else {
				rest[key] = value
			}
		}
		if len(conditions) == 0 {
			keyed = append(keyed, tree)
			continue
		}
		slices.Sort(conditions)
		lines := append(slices.Clone(guards), "some "+index+", "+element+" in "+t.elements())
		m.mapping(rest, target{base: element, pointer: m.pointerOf(t, index)}, append(lines, conditions...))
	}
	if len(keyed) > 0 {
		m.keyedList(t, field, keyed, guards)
	}
}

// set emits a rule that sets a value.
func (m *merge) set(t target, value any, guards []string) {
	m.emit(m.pointerTo(t), m.template(m.at, withoutAdditions(value), true), guards)
}

// withoutAdditions removes the anchors +( ) below one that applies.
func withoutAdditions(value any) any {
	switch typed := value.(type) {
	case map[string]any:
		out := map[string]any{}
		for key, one := range typed {
			if found := anchor.FindStringSubmatch(strings.TrimSpace(key)); found != nil && found[1] == addition {
				key = found[2]
			}
			out[key] = withoutAdditions(one)
		}
		return out
	case []any:
		out := make([]any, len(typed))
		for i, one := range typed {
			out[i] = withoutAdditions(one)
		}
		return out
	}
	return value
}

// emit adds a rule that sets a value, unless the object has it already.
func (r *rule) emit(t target, value string, guards []string) {
	if r.refusesOwn(t, value) {
		return
	}
	lines := slices.Clone(guards)
	if strings.Contains(value, "kyverno.") || strings.HasPrefix(value, "element") {
		lines = append(lines, value+" != null")
	}
	if !strings.HasSuffix(strings.Join(guards, "\n"), t.current()+" == null") {
		lines = append(lines, t.current()+" != "+value)
	}
	lines = append(lines, `op := {"op": "add", "path": `+t.location()+`, "value": `+value+"}")
	r.changes = append(r.changes, lines)
}

// jsonPatches translates a JSON Patch in YAML.
func (r *rule) jsonPatches(f field, guards []string) {
	if variable.MatchString(f.text()) && r.hasPathVariable(f.text()) {
		r.add(f, "variable in a patch", "write the rule as patch")
		return
	}
	var operations []map[string]any
	if err := yaml.Unmarshal([]byte(f.text()), &operations); err != nil {
		r.add(f, "invalid patchesJson6902", err.Error())
		return
	}
	if len(operations) > 1 && !independent(operations) {
		r.add(f, "several operations in patchesJson6902", "write the rule as patch, with the operations in one list")
		return
	}
	for _, operation := range operations {
		path, _ := operation["path"].(string)
		t := target{base: r.object}
		numbered := false
		for _, part := range strings.Split(strings.TrimPrefix(path, "/"), "/") {
			_, err := strconv.Atoi(part)
			numbered = numbered || err == nil || part == "-" || part == "" || strings.Contains(part, "{{")
			t = t.below(strings.NewReplacer("~1", "/", "~0", "~").Replace(part))
		}
		switch op := operation["op"]; {
		case numbered:
			r.add(f, "list in patchesJson6902", "write the rule as patch; it must find nothing to do on an object that it has changed")
		case op == "replace":
			r.emit(t, r.template(f, operation["value"], true), append(slices.Clone(guards), t.current()+" != null"))
		case op == "add":
			r.emit(t, r.template(f, operation["value"], true), guards)
		case op == "remove":
			r.changes = append(r.changes, append(slices.Clone(guards), t.current()+" != null", `op := {"op": "remove", "path": `+t.location()+"}"))
		default:
			r.add(f, fmt.Sprintf("operation %v in patchesJson6902", op), "use add, or write the rule as patch")
		}
	}
}

// independent reports whether operations change fields that are not within one another, and none of
// them requires that its field exists.
func independent(operations []map[string]any) bool {
	var paths []string
	for _, operation := range operations {
		path, _ := operation["path"].(string)
		if operation["op"] == "replace" || slices.ContainsFunc(paths, func(other string) bool {
			return strings.HasPrefix(path+"/", other+"/") || strings.HasPrefix(other+"/", path+"/")
		}) {
			return false
		}
		paths = append(paths, path)
	}
	return true
}

// hasPathVariable reports a variable in a path, or one that is not a whole value.
func (r *rule) hasPathVariable(text string) bool {
	for line := range strings.Lines(text) {
		if strings.Contains(line, "path:") && strings.Contains(line, "{{") {
			return true
		}
	}
	return false
}

// patchRules are the rules patch.
func (r *rule) patchRules() (out []string) {
	for _, lines := range r.changes {
		out = append(out, body("patch contains op", withoutIndex(slices.Concat(r.applies, lines))))
	}
	return out
}

// podPath is the rule about the place of the Pod template.
func (r *rule) podPath() (out []string) {
	if !r.pods || len(r.changes) == 0 {
		return nil
	}
	out = append(out, body(`pod_path := ""`, []string{`input.request.kind.kind == "Pod"`}))
	var templated []string
	for _, kind := range r.controllers {
		if kind == "CronJob" {
			out = append(out, body(`pod_path := "/spec/jobTemplate/spec/template"`, []string{`input.request.kind.kind == "CronJob"`}))
		} else {
			templated = append(templated, kind)
		}
	}
	return append(out, body(`pod_path := "/spec/template"`, []string{"input.request.kind.kind in " + literal(toAny(templated))}))
}
