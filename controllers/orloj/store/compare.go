package store

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"reflect"
	"slices"
	"strings"
)

// comparison is the difference between the stored and the desired spec. Missing, null, zero,
// false and empty values are equal: orlojd omits some of them and adds others.
type comparison struct {
	table Table
	// lost are the desired fields that are missing from the row, and that some versions of
	// orlojd drop.
	lost []string
	// differs reports any other difference.
	differs bool
}

// compare compares a stored spec with the desired one.
func compare(table Table, have, want map[string]any) *comparison {
	c := &comparison{table: table}
	c.fields(nil, have, want)
	slices.Sort(c.lost)
	return c
}

func (c *comparison) fields(path []string, have, want map[string]any) {
	keys := map[string]any{}
	maps.Copy(keys, have)
	maps.Copy(keys, want)
	for key := range keys {
		stored, there := have[key]
		c.value(append(slices.Clone(path), key), stored, want[key], there && stored != nil)
	}
}

func (c *comparison) value(path []string, have, want any, there bool) {
	switch {
	case c.isZero(path, have) && c.isZero(path, want):
	case !there && matchesAny(c.table.later, path):
		c.lost = append(c.lost, fieldPath(path))
	default:
		c.content(path, have, want)
	}
}

// content compares two values of which at least one is not zero.
func (c *comparison) content(path []string, have, want any) {
	if stored, isMap := have.(map[string]any); isMap || have == nil {
		if wanted, isMap := want.(map[string]any); isMap {
			c.fields(path, stored, wanted)
			return
		}
	}
	switch want := want.(type) {
	case []any:
		stored, isList := have.([]any)
		if !isList || len(stored) != len(want) {
			c.differs = true
			return
		}
		for i := range want {
			c.value(append(slices.Clone(path), fmt.Sprintf("[%d]", i)), stored[i], want[i], true)
		}
	case json.Number:
		stored, isNumber := have.(json.Number)
		c.differs = c.differs || !isNumber || !sameNumber(stored, want)
	default:
		c.differs = c.differs || !reflect.DeepEqual(have, want)
	}
}

func (c *comparison) isZero(path []string, value any) bool {
	switch value := value.(type) {
	case nil:
		return true
	case bool:
		return !value
	case string:
		return value == "" || value == c.table.zero[fieldPath(path)]
	case json.Number:
		return sameNumber(value, "0")
	case []any:
		return len(value) == 0
	case map[string]any:
		for key, inner := range value {
			if !c.isZero(append(slices.Clone(path), key), inner) {
				return false
			}
		}
		return true
	}
	return false
}

// matchesAny reports whether a path matches one of the patterns or is below a match. A star
// matches any key or list index.
func matchesAny(patterns []string, path []string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		parts := strings.Split(pattern, ".")
		matches := func(part, key string) bool { return part == "*" || part == key }
		return len(parts) <= len(path) && slices.EqualFunc(parts, path[:len(parts)], matches)
	})
}

// fieldPath formats a path as graph.a.edges[0].condition.
func fieldPath(path []string) string {
	return strings.ReplaceAll(strings.Join(path, "."), ".[", "[")
}

// maxExponent is the exponent above which numbers are compared as text: their values would be
// long.
const maxExponent = 8

func sameNumber(a, b json.Number) bool {
	if a == b {
		return true
	}
	if _, exponent, _ := strings.Cut(strings.ToLower(string(a)+"e"), "e"); len(exponent) > maxExponent {
		return false
	}
	x, okX := new(big.Float).SetString(string(a))
	y, okY := new(big.Float).SetString(string(b))
	return okX && okY && x.Cmp(y) == 0
}
