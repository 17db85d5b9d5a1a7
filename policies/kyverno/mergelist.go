package kyverno

import (
	"fmt"
	"slices"
	"strings"
)

// mergeKeys are the keys by which the lists of a Pod merge. The API's schema has them.
var mergeKeys = map[string]string{
	"containers": "name", "initContainers": "name", "ephemeralContainers": "name", "volumes": "name", "env": "name",
	"imagePullSecrets": "name", "volumeMounts": "mountPath", "volumeDevices": "devicePath", "hostAliases": "ip",
}

// atomicLists are lists of a Pod that a patch replaces as a whole.
var atomicLists = []string{"envFrom", "tolerations", "options", "httpHeaders", "items", "sources", "sysctls", "readinessGates"}

// isAtomic reports whether a patch replaces a list: those of custom resources always.
func (m *merge) isAtomic(field string) bool {
	return slices.Contains(atomicLists, field) && m.hasPods()
}

// hasPods reports whether the rule is about Pods and workloads alone, so that lists are those of Pods.
func (m *merge) hasPods() bool {
	named := m.kindsNamed()
	return len(named) > 0 && !slices.ContainsFunc(named, func(k kindSelector) bool { return k.kind != "Pod" && !slices.Contains(workloads, k.kind) })
}

// loopNames are the names of an index and an element that no loop around has.
func (m *merge) loopNames() (index, element string) {
	m.loops++
	if m.loops == 1 {
		return "i", "one"
	}
	return fmt.Sprintf("i%d", m.loops), fmt.Sprintf("one%d", m.loops)
}

// elements is the term of the present elements of a list.
func (t target) elements() string { return strings.Replace(t.current(), ", null)", ", [])", 1) }

// pointerOf is the term of the JSON Pointer to an element.
func (m *merge) pointerOf(t target, index string) string {
	return `sprintf("%s/%d", [` + m.pointerTo(t).location() + ", " + index + "])"
}

// keyedList emits rules for elements with a merge key: those that exist are merged, and the others
// are added in front, as Kyverno does. Elements that exist keep their place.
func (m *merge) keyedList(t target, field string, list []map[string]any, guards []string) {
	key, ok := mergeKeys[field]
	if !ok || !m.hasPods() {
		m.refuse("merge of lists in patchStrategicMerge", "select the elements by a condition such as (name), or write the rule as patch")
		return
	}
	var added []any
	for _, one := range list {
		if value, ok := one[key].(string); !ok || value == "" || hasAnchors(map[string]any(one)) {
			m.refuse("list element without its merge key "+key+" in patchStrategicMerge", "name the "+key+" of the element")
			return
		}
		added = append(added, withoutAdditions(map[string]any(one)))
	}
	wanted := m.template(m.at, added, true)
	missing := "kyverno.unlisted(" + wanted + ", " + t.elements() + ", " + literal(key) + ")"
	for _, one := range list {
		rest := map[string]any{}
		for name, value := range one {
			if name != key {
				rest[name] = value
			}
		}
		if len(rest) == 0 {
			continue
		}
		index, element := m.loopNames()
		lines := append(slices.Clone(guards), "some "+index+", "+element+" in "+t.elements(), ref(element, key)+" == "+m.template(m.at, one[key], true), "count("+missing+") == 0")
		m.mapping(rest, target{base: element, pointer: m.pointerOf(t, index)}, lines)
	}
	location := m.pointerTo(t).location()
	m.changes = append(m.changes,
		append(slices.Clone(guards), "missing := "+missing, "count(missing) > 0", t.elements()+" == []", `op := {"op": "add", "path": `+location+`, "value": missing}`),
		append(slices.Clone(guards), "missing := "+missing, "count(missing) > 0", t.elements()+" != []", `op := [{"op": "add", "path": concat("", [`+location+`, "/0"]), "value": one} | some one in array.reverse(missing)]`))
}

// variableKey emits a rule for a key with a variable.
func (m *merge) variableKey(name string, value any, t target, guards []string) {
	if anchor.MatchString(strings.TrimSpace(name)) || !isScalar(value) {
		m.refuse("variable in a key", "write the rule in Rego")
		return
	}
	t = m.pointerTo(t)
	key := m.template(m.at, name, false)
	pointer := `concat("", [` + t.location() + `, "/", replace(replace(` + key + `, "~", "~0"), "/", "~1")])`
	m.changes = append(m.changes, append(slices.Clone(guards),
		"key := "+key, "value := "+m.template(m.at, value, true), "value != null",
		"object.get("+t.base+", array.concat("+literal(t.path)+", [key]), null) != value",
		`op := {"op": "add", "path": `+strings.Replace(pointer, key, "key", 1)+`, "value": value}`))
}
