package restriction

import (
	"slices"

	"github.com/open-policy-agent/opa/v1/ast"
)

// maxShrinks limits the smaller inputs that are evaluated.
const maxShrinks = 300

// shrink removes and simplifies parts of a counterexample that are not necessary.
func (c *comparison) shrink(r *replay, example *candidate) (smallest *candidate) {
	smallest = example
	defer ignoreExhaustion()
	tries := 0
	for improved := true; improved; {
		improved = false
		smaller := smallerThan(smallest.input)
		if _, isObject := smallest.input.(ast.Object); !isObject { // users expect an object
			smaller = append([]ast.Value{ast.NewObject()}, smaller...)
		}
		for _, smaller := range smaller {
			if tries++; tries > maxShrinks {
				return smallest
			}
			if f := c.confirmViolation(r, smaller); f != nil {
				smallest, improved = &candidate{smaller, f}, true
				break
			}
		}
	}
	return smallest
}

// smallerThan returns copies of a value in which one part is removed or made smaller.
func smallerThan(value ast.Value) []ast.Value {
	var out []ast.Value
	switch value := value.(type) {
	case ast.Object:
		for _, key := range value.Keys() {
			out = append(out, without(value, key))
		}
		for _, key := range value.Keys() {
			for _, smaller := range smallerThan(value.Get(key).Value) {
				changed := value.Copy()
				changed.Insert(key, ast.NewTerm(smaller))
				out = append(out, changed)
			}
		}
	case *ast.Array:
		all := elementsOfArray(value)
		for i := range all {
			out = append(out, ast.NewArray(slices.Delete(slices.Clone(all), i, i+1)...))
		}
		for i := range all {
			for _, smaller := range smallerThan(all[i].Value) {
				changed := slices.Clone(all)
				changed[i] = ast.NewTerm(smaller)
				out = append(out, ast.NewArray(changed...))
			}
		}
	case ast.String:
		if value != "x" {
			out = append(out, ast.String("x"))
		}
	case ast.Number:
		if value != "0" && value != "1" {
			out = append(out, ast.Number("1"))
		}
	}
	return out
}
