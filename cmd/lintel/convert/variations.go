package convert

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
)

// variations are copies of objects with one change each: a field is missing, or has another value.
// Names, kinds and versions stay. At most limit are returned; the same input gives the same ones.
func variations(objects []map[string]any, texts []string, limit int) []map[string]any {
	out := slices.Clone(objects)
	seen := map[string]bool{}
	for _, object := range objects {
		seen[withoutName(object)] = true
	}
	var changed []map[string]any
	for _, object := range objects {
		for _, change := range changesOf(object, nil, texts) {
			variation := clone(object).(map[string]any)
			change(variation)
			if key := withoutName(variation); !seen[key] {
				seen[key] = true
				changed = append(changed, variation)
			}
		}
	}
	slices.SortStableFunc(changed, func(a, b map[string]any) int { return int(hash(a)>>1) - int(hash(b)>>1) })
	if len(changed) > limit {
		changed = changed[:limit]
	}
	for i, variation := range changed {
		rename(variation, i)
	}
	return append(out, changed...)
}

func hash(object map[string]any) uint32 {
	h := fnv.New32a()
	fmt.Fprint(h, withoutName(object))
	return h.Sum32()
}

func withoutName(object map[string]any) string {
	text, err := json.Marshal(object)
	if err != nil {
		return fmt.Sprint(object)
	}
	return string(text)
}

// rename gives an object a name of its own, so that reports tell the variations apart.
func rename(object map[string]any, number int) {
	metadata, ok := object["metadata"].(map[string]any)
	if !ok {
		return
	}
	name, _ := metadata["name"].(string)
	metadata["name"] = fmt.Sprintf("%s-v%d", name, number)
}

func clone(value any) any {
	switch typed := value.(type) {
	case map[string]any:
		out := map[string]any{}
		for key, one := range typed {
			out[key] = clone(one)
		}
		return out
	case []any:
		out := make([]any, len(typed))
		for i, one := range typed {
			out[i] = clone(one)
		}
		return out
	}
	return value
}

// change modifies a copy of an object.
type change func(map[string]any)

// changesOf are the changes of the fields below a path.
func changesOf(value any, path []any, texts []string) (out []change) {
	switch typed := value.(type) {
	case map[string]any:
		for _, key := range sortedKeys(typed) {
			below := append(slices.Clone(path), key)
			if len(path) == 0 && (key == "apiVersion" || key == "kind" || key == "status") || len(path) == 1 && path[0] == "metadata" && (key == "name" || key == "generateName" || key == "namespace") {
				continue
			}
			if len(path) > 0 || key != "metadata" {
				out = append(out, func(o map[string]any) { parent(o, below).(map[string]any)[key] = deleted })
			}
			out = append(out, changesOf(typed[key], below, texts)...)
		}
	case []any:
		if len(typed) > 0 && isNamed(typed[0]) {
			out = append(out, set(path, append(slices.Clone(typed), another(typed[0]))))
		}
		for i, one := range typed {
			out = append(out, changesOf(one, append(slices.Clone(path), i), texts)...)
		}
	case string:
		for _, text := range append([]string{"other", typed + "x"}, texts...) {
			out = append(out, set(path, text))
		}
	case bool:
		out = append(out, set(path, !typed))
	case float64, int64, int:
		out = append(out, set(path, float64(0)), set(path, float64(1000000)))
	}
	return out
}

// isNamed reports whether a list may have an element like this one, too: only containers, because
// Kyverno drops elements of other lists whose keys are equal, such as the mountPath of volumeMounts.
func isNamed(element any) bool {
	tree, ok := element.(map[string]any)
	if !ok {
		return true
	}
	_, ok = tree["image"].(string)
	return ok
}

// another is a copy of an element of a list. Names within a list are unique.
func another(element any) any {
	copied := clone(element)
	if tree, ok := copied.(map[string]any); ok {
		if name, ok := tree["name"].(string); ok {
			tree["name"] = name + "-other"
		}
	}
	return copied
}

// deleted marks a key that is removed.
var deleted = &struct{}{}

func set(path []any, value any) change {
	return func(o map[string]any) {
		switch key := path[len(path)-1].(type) {
		case string:
			parent(o, path).(map[string]any)[key] = value
		case int:
			parent(o, path).([]any)[key] = value
		}
	}
}

func parent(o map[string]any, path []any) any {
	var value any = o
	for _, key := range path[:len(path)-1] {
		switch key := key.(type) {
		case string:
			value = value.(map[string]any)[key]
		case int:
			value = value.([]any)[key]
		}
	}
	return value
}

// compact removes the keys that are marked.
func compact(value any) any {
	switch typed := value.(type) {
	case map[string]any:
		for key, one := range typed {
			if one == any(deleted) {
				delete(typed, key)
			} else {
				typed[key] = compact(one)
			}
		}
	case []any:
		for i, one := range typed {
			typed[i] = compact(one)
		}
	}
	return value
}

// textsOf are the texts of a policy that may occur in objects.
func textsOf(value any) (out []string) {
	switch typed := value.(type) {
	case map[string]any:
		for _, key := range sortedKeys(typed) {
			if key == "message" || key == "operator" || key == "key" || key == "kinds" {
				continue
			}
			out = append(out, textsOf(typed[key])...)
		}
	case []any:
		for _, one := range typed {
			out = append(out, textsOf(one)...)
		}
	case string:
		if !strings.Contains(typed, "{{") && len(typed) < 60 {
			for _, part := range strings.FieldsFunc(typed, func(r rune) bool { return r == '|' || r == '&' }) {
				part = strings.TrimLeft(strings.TrimSpace(part), "!<>=")
				out = append(out, strings.NewReplacer("*", "a", "?", "b").Replace(part))
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func sortedKeys(of map[string]any) []string {
	keys := make([]string, 0, len(of))
	for key := range of {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

// repeatsNames reports whether two elements of a list have one name, or one of them has none. The API
// server refuses such objects, and Kyverno's merge drops an element.
func repeatsNames(value any) bool {
	switch typed := value.(type) {
	case map[string]any:
		for _, one := range typed {
			if repeatsNames(one) {
				return true
			}
		}
	case []any:
		seen := map[string]bool{}
		for _, one := range typed {
			name := keyOfElement(one)
			if name != "" && seen[name] || repeatsNames(one) {
				return true
			}
			seen[name] = true
		}
		return seen[""] && len(seen) > 1
	}
	return false
}
