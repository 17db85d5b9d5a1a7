package jsonpatch

import (
	"encoding/json"
	"maps"
	"math/big"
	"slices"

	"github.com/lintel-policy/lintel/policies/terms"
)

// Sets reports whether a value has something at a path, or has another type than a map on the
// way.
func Sets(value any, path []string) bool {
	for _, key := range path {
		fields, isMap := value.(map[string]any)
		if !isMap {
			return true
		}
		if value, isMap = fields[key]; !isMap {
			return false
		}
	}
	return true
}

// Same says whether two lists of steps are equal.
func Same(a, b []Step) bool {
	return slices.EqualFunc(a, b, func(x, y Step) bool {
		return x.Op == y.Op && slices.Equal(x.Path, y.Path) && slices.Equal(x.From, y.From) && equal(x.Value, y.Value)
	})
}

// equal compares JSON values as RFC 6902 does in section 4.6: numbers by their value.
func equal(a, b any) bool {
	switch a := a.(type) {
	case map[string]any:
		b, isMap := b.(map[string]any)
		return isMap && maps.EqualFunc(a, b, equal)
	case []any:
		b, isList := b.([]any)
		return isList && slices.EqualFunc(a, b, equal)
	}
	left, errLeft := json.Marshal(a)
	right, errRight := json.Marshal(b)
	if errLeft != nil || errRight != nil {
		return false
	}
	return string(left) == string(right) || equalNumbers(string(left), string(right))
}

// equalNumbers compares two scalars in JSON, which need not be numbers. Those of reviews and
// policies are within the limits of terms.CheckNumber.
func equalNumbers(a, b string) bool {
	if terms.CheckNumber(a) != nil || terms.CheckNumber(b) != nil {
		return false
	}
	left, isNumber := new(big.Rat).SetString(a)
	right, areNumbers := new(big.Rat).SetString(b)
	return isNumber && areNumbers && left.Cmp(right) == 0
}

// IsElement says whether a path leads to an element of a list.
func IsElement(root any, path []string) bool {
	parent, err := Get(root, path[:len(path)-1])
	_, isList := parent.([]any)
	return err == nil && isList
}

// At is the value at a path, of which "-" is the last element.
func (d *Document) At(path []string) any {
	last := len(path) - 1
	if path[last] == "-" {
		list, _ := ValueAt(d.Root, path[:last]).([]any)
		if len(list) == 0 {
			return nil
		}
		return list[len(list)-1]
	}
	return ValueAt(d.Root, path)
}

// ValueAt is the value at a path: nil where there is none.
func ValueAt(root any, path []string) any {
	value, err := Get(root, path)
	if err != nil {
		return nil
	}
	return value
}

// Holds reports whether a value has all parts of another: the API server adds defaults to the
// values that a policy sets. Empty parts count as unset.
func Holds(value, part any) bool {
	switch part := part.(type) {
	case nil:
		return false
	case map[string]any:
		fields, ok := value.(map[string]any)
		for name, field := range part {
			ok = ok && (Holds(fields[name], field) || equal(fields[name], field))
		}
		return ok && len(part) > 0
	case []any:
		list, ok := value.([]any)
		ok = ok && len(part) > 0 && len(list) == len(part)
		for i := 0; ok && i < len(part); i++ {
			ok = Holds(list[i], part[i]) || equal(list[i], part[i])
		}
		return ok
	default:
		return equal(value, part)
	}
}
