package engine

import (
	"math"
	"math/big"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
)

// This file has the checks of limits_table.go: what a call may take, by what the
// function does with it. Those for functions of text are in limits_text.go.

// whole is for functions that walk through the operands at the positions, all of
// them if none is named.
func whole(positions ...int) check {
	return func(operands []*ast.Term) (int, error) {
		steps := 0
		for i, operand := range operands {
			if len(positions) > 0 && !slices.Contains(positions, i) {
				continue
			}
			if _, isString := operand.Value.(ast.String); isString {
				continue // checkTerm has seen it
			}
			count, bytes := nodes(operand)
			if count > MaxNodes || bytes > MaxStringBytes {
				return 0, exceeds("a value is larger than %d values or %d bytes", MaxNodes, MaxStringBytes)
			}
			steps += count/elementsPerStep + bytes/bytesPerStep
		}
		return steps, nil
	}
}

// compared bounds comparisons, whose cost is that of the smaller operand at most.
func compared(operands []*ast.Term) (int, error) {
	smaller := MaxCompared + 1
	for _, operand := range operands[:2] {
		count, _ := nodesUpTo(operand, MaxCompared, math.MaxInt)
		if smaller = min(smaller, count); smaller == 1 {
			return 0, nil
		}
	}
	if smaller > MaxCompared {
		return 0, exceeds("a value to compare is larger than %d values", MaxCompared)
	}
	return smaller / bytesPerStep, nil
}

// all applies several checks.
func all(list ...check) check {
	return func(operands []*ast.Term) (int, error) {
		total := 0
		for _, one := range list {
			steps, err := one(operands)
			if err != nil {
				return 0, err
			}
			total += steps
		}
		return total, nil
	}
}

// joined bounds the elements of collections put together.
func joined(operands []*ast.Term) (int, error) {
	total := 0
	for _, operand := range operands {
		total += size(operand)
	}
	return total / elementsPerStep, checkElements(total)
}

// flattened bounds the elements of a collection of collections put together.
func flattened(operands []*ast.Term) (int, error) {
	total := 0
	add := func(term *ast.Term) { total += max(1, size(term)) }
	switch value := operands[0].Value.(type) {
	case *ast.Array:
		value.Foreach(add)
	case ast.Set:
		value.Foreach(add)
	}
	return total / elementsPerStep, checkElements(total)
}

func checkElements(count int) error {
	if count > MaxElements {
		return exceeds("the result would have %d elements; the limit is %d", count, MaxElements)
	}
	return nil
}

// ranged bounds numbers.range.
func ranged(operands []*ast.Term) (int, error) {
	return rangeBetween(operands, big.NewInt(1))
}

// rangedByStep bounds numbers.range_step.
func rangedByStep(operands []*ast.Term) (int, error) {
	return rangeBetween(operands, integer(operands[2]))
}

func rangeBetween(operands []*ast.Term, step *big.Int) (int, error) {
	from, to := integer(operands[0]), integer(operands[1])
	if from == nil || to == nil || step == nil || step.Sign() <= 0 {
		return 0, nil // the function says what is wrong
	}
	distance := new(big.Int).Abs(new(big.Int).Sub(to, from))
	if count := distance.Quo(distance, step); !count.IsInt64() || count.Int64() >= MaxElements {
		return 0, exceeds("the range would have more than %d elements", MaxElements)
	}
	return 0, nil
}

func integer(term *ast.Term) *big.Int {
	number, ok := term.Value.(ast.Number)
	if !ok {
		return nil
	}
	value, ok := new(big.Int).SetString(string(number), 10)
	if !ok {
		return nil
	}
	return value
}

// shifted bounds bits.lsh.
func shifted(operands []*ast.Term) (int, error) {
	if by := integer(operands[1]); by != nil && (!by.IsInt64() || by.Int64() > 3*MaxNumberDigits) {
		return 0, exceeds("a shift by more than %d bits", 3*MaxNumberDigits)
	}
	return 0, nil
}

// multiplied bounds product.
func multiplied(operands []*ast.Term) (int, error) {
	_, digits := nodes(operands[0])
	if digits > MaxNumberDigits {
		return 0, exceeds("the product would have more than %d digits", MaxNumberDigits)
	}
	return 0, nil
}

// crossed bounds net.cidr_contains_matches, which compares each with each.
func crossed(operands []*ast.Term) (int, error) {
	pairs := max(1, size(operands[0])) * max(1, size(operands[1]))
	if pairs > MaxElements {
		return 0, exceeds("%d comparisons of networks; the limit is %d", pairs, MaxElements)
	}
	return pairs, nil
}

// parsed charges for the values that a text becomes: an object takes many times the
// memory of its text.
func parsed(operands []*ast.Term) (int, error) {
	return len(textAt(operands, 0)) / (bytesPerStep / 4), nil
}

// composed bounds the values that a text becomes, as its marks tell.
func composed(operands []*ast.Term) (int, error) {
	text := textAt(operands, 0)
	marks := strings.Count(text, ",") + strings.Count(text, "{") + strings.Count(text, "[")
	if marks > MaxMadeNodes {
		return 0, exceeds("a text to parse has %d commas and brackets; the limit is %d", marks, MaxMadeNodes)
	}
	return 0, nil
}

// within bounds object.subset, which looks for a list at every place of another.
func within(operands []*ast.Term) (int, error) {
	values, _ := nodes(operands[0])
	work := values * longestList(operands[1])
	if work > MaxCompared {
		return 0, exceeds("looking for a list of %d elements in %d values is too much work", longestList(operands[1]), values)
	}
	return work / nodesPerStep, nil
}

// longestList is the length of the longest list in a term.
func longestList(term *ast.Term) int {
	longest := 0
	below := func(term *ast.Term) { longest = max(longest, longestList(term)) }
	switch value := term.Value.(type) {
	case *ast.Array:
		value.Foreach(below)
		longest = max(longest, value.Len())
	case ast.Set:
		value.Foreach(below)
	case ast.Object:
		value.Foreach(func(_, value *ast.Term) { below(value) })
	}
	return longest
}

// walked bounds walk, which makes a list of the keys to each value.
func walked(operands []*ast.Term) (int, error) {
	total := 0
	var walk func(term *ast.Term, depth int) bool
	walk = func(term *ast.Term, depth int) bool {
		total += depth
		below := func(term *ast.Term) bool { return walk(term, depth+1) }
		switch value := term.Value.(type) {
		case *ast.Array:
			return value.Until(below)
		case ast.Set:
			return value.Until(below)
		case ast.Object:
			return value.Until(func(_, value *ast.Term) bool { return below(value) })
		}
		return total > MaxCompared
	}
	if walk(operands[0], 0); total > MaxCompared {
		return 0, exceeds("the paths to all values have more than %d keys; walk through a part", MaxCompared)
	}
	return total / nodesPerStep, nil
}

// maxAlike is how many different elements of a list may have the same hash. OPA's hash
// of a number is its integer part, and of a list the sum of its elements'.
const maxAlike = 64

// spread bounds functions that put the elements of a list into a set, which takes
// the square of those that OPA cannot tell apart by their hash.
func spread(position int) check {
	return func(operands []*ast.Term) (int, error) {
		array, ok := operands[position].Value.(*ast.Array)
		if !ok {
			return 0, nil
		}
		seen := map[int][]*ast.Term{}
		alike := array.Until(func(element *ast.Term) bool {
			hash := element.Hash()
			if !slices.ContainsFunc(seen[hash], element.Equal) {
				seen[hash] = append(seen[hash], element)
			}
			return len(seen[hash]) > maxAlike
		})
		if alike {
			return 0, exceeds("more than %d different elements of a list have the same hash; use strings", maxAlike)
		}
		return array.Len() / elementsPerStep, nil
	}
}

// rsaKeys bounds the keys to verify with: an RSA key takes more than the square of its
// length, and no key in use is longer than 2 KiB.
var rsaKeys = all(shorter(0, MaxParseBytes), shorter(1, 16<<10))

// quantity bounds the exponent in a quantity such as 1e3Mi.
func quantity(operands []*ast.Term) (int, error) {
	text := textAt(operands, 0)
	if i := strings.IndexAny(text, "eE"); i >= 0 {
		digits := strings.TrimLeft(text[i+1:], "+-0")
		end := len(digits) - len(strings.TrimLeft(digits, "0123456789"))
		if end > 3 {
			return 0, exceeds("the quantity %q has an exponent beyond 999", text)
		}
	}
	return 0, nil
}

// shallow bounds what is indented by its depth.
func shallow(operands []*ast.Term) (int, error) {
	const deepest = 100
	var depth func(*ast.Term, int) bool
	depth = func(term *ast.Term, at int) (deep bool) {
		if at > deepest {
			return true
		}
		below := func(term *ast.Term) bool { return depth(term, at+1) }
		switch value := term.Value.(type) {
		case *ast.Array:
			return value.Until(below)
		case ast.Set:
			return value.Until(below)
		case ast.Object:
			return value.Until(func(_, value *ast.Term) bool { return below(value) })
		}
		return false
	}
	if depth(operands[0], 0) {
		return 0, exceeds("a value nests deeper than %d", deepest)
	}
	return 0, nil
}

// patched bounds JSON patches: each copy may double the document.
func patched(operands []*ast.Term) (int, error) {
	patches, ok := operands[1].Value.(*ast.Array)
	if !ok {
		return 0, nil
	}
	result, _ := nodes(operands[0])
	patches.Foreach(func(patch *ast.Term) {
		if operation, ok := patch.Value.(ast.Object); ok {
			if name := operation.Get(ast.InternedTerm("op")); name != nil && name.Value.Compare(ast.String("copy")) == 0 {
				result = min(result*2, MaxNodes+1)
			}
		}
	})
	added, _ := nodes(operands[1])
	work := (result + added) * patches.Len()
	if work > 2*MaxMatchWork {
		return 0, exceeds("%d patches of a value of %d are too much work; patch a part of it", patches.Len(), result)
	}
	if result > MaxNodes {
		return 0, exceeds("the copies could make a value of more than %d values; patch with fewer copies", MaxNodes)
	}
	return result/elementsPerStep + work/(2*bytesPerStep), nil
}
