package jsonpatch

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strconv"
)

// Difference returns the steps that turn a document into another one. The elements of a list are
// compared by index: new elements are appended, and a list that loses elements is replaced. A new map
// is added empty, and then its fields.
func Difference(before, after any) []Step { return appendDifference(nil, nil, before, after) }

func appendDifference(steps []Step, path []string, before, after any) []Step {
	at := func(key string) []string { return append(slices.Clone(path), key) }
	switch after := after.(type) {
	case map[string]any:
		old, isMap := before.(map[string]any)
		if !isMap {
			break
		}
		for _, key := range slices.Sorted(maps.Keys(old)) {
			if _, kept := after[key]; !kept {
				steps = append(steps, Step{Op: "remove", Path: at(key)})
			}
		}
		for _, key := range slices.Sorted(maps.Keys(after)) {
			value, had := old[key]
			fields, isMap := after[key].(map[string]any)
			switch {
			case had:
				steps = appendDifference(steps, at(key), value, after[key])
			case isMap: // others may add fields of the map, too
				steps = append(steps, Step{Op: "add", Path: at(key), Value: map[string]any{}})
				steps = appendDifference(steps, at(key), map[string]any{}, fields)
			default:
				steps = append(steps, Step{Op: "add", Path: at(key), Value: after[key]})
			}
		}
		return steps
	case []any:
		old, isList := before.([]any)
		if !isList || len(old) > len(after) {
			break
		}
		for i, value := range after[:len(old)] {
			steps = appendDifference(steps, at(strconv.Itoa(i)), old[i], value)
		}
		for _, value := range after[len(old):] {
			steps = append(steps, Step{Op: "add", Path: at("-"), Value: value})
		}
		return steps
	case json.Number:
		if old, isNumber := before.(json.Number); isNumber && old == after {
			return steps
		}
	}
	if reflect.DeepEqual(before, after) {
		return steps
	}
	return append(steps, Step{Op: "replace", Path: path, Value: after})
}
