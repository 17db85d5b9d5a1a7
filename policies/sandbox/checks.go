package sandbox

import (
	"math"
	"net"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
	"go.yaml.in/yaml/v3"

	"github.com/lintel-policy/lintel/policies/eval"
	"github.com/lintel-policy/lintel/policies/terms"
)

// This file has the checks of table.go: what a call may take, by what the
// function does with it. Those of texts are in text.go, those of numbers in numbers.go.

// whole is for functions that walk through the operands at the positions, all of
// them if none is named.
func whole(positions ...int) checkFunc {
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
		count, _ := eval.Measure(operand, MaxCompared, math.MaxInt)
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
func all(list ...checkFunc) checkFunc {
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

// perElement charges so many units for each element of an operand.
func perElement(i, units int) checkFunc {
	return func(operands []*ast.Term) (int, error) { return units * size(operands[i]), nil }
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
	for _, collection := range elementsOf(operands[0]) {
		total += max(1, size(collection))
	}
	return total / elementsPerStep, checkElements(total)
}

func checkElements(count int) error {
	if count > MaxElements {
		return exceeds("the result would have %d elements; the limit is %d", count, MaxElements)
	}
	return nil
}

// crossed bounds net.cidr_contains_matches, which compares each with each.
func crossed(operands []*ast.Term) (int, error) {
	pairs := max(1, size(operands[0])) * max(1, size(operands[1]))
	if pairs > MaxElements {
		return 0, exceeds("%d comparisons of networks; the limit is %d", pairs, MaxElements)
	}
	return pairs, nil
}

// expanded bounds net.cidr_expand, by the addresses of the network.
func expanded(operands []*ast.Term) (int, error) {
	_, network, err := net.ParseCIDR(textAt(operands, 0))
	if err != nil {
		return 0, nil // the function returns the error
	}
	ones, bits := network.Mask.Size()
	addresses := 1 << min(bits-ones, 30)
	if addresses > MaxElements {
		return 0, exceeds("the network %s has more than %d addresses", network, MaxElements)
	}
	return addresses / elementsPerStep, nil
}

// parsed charges for the values that a text becomes: an object takes many times the
// memory of its text.
func parsed(operands []*ast.Term) (int, error) {
	return len(textAt(operands, 0)) / (bytesPerStep / 8), nil
}

// unfolded bounds the values that a text of YAML becomes once its aliases are written out.
func unfolded(operands []*ast.Term) (int, error) {
	values, bytes := Unfold(textAt(operands, 0))
	if values > MaxMadeNodes || bytes > MaxStringBytes {
		return 0, exceeds("a text to parse has more than %d values or %d bytes once its aliases are written out", MaxMadeNodes, MaxStringBytes)
	}
	return values / elementsPerStep, nil
}

// Unfold counts the values of a text of YAML, and their bytes, with all that its aliases
// stand for. It is zero where there are none.
func Unfold(text string) (values, bytes int) {
	if !strings.Contains(text, "&") || !strings.Contains(text, "*") {
		return 0, 0
	}
	type found struct{ values, bytes int }
	known := map[*yaml.Node]found{}
	var count func(*yaml.Node) found
	count = func(node *yaml.Node) found {
		total, seen := known[node]
		if seen {
			return total
		}
		known[node] = total // should it hold itself
		total = found{1, len(node.Value)}
		add := func(part found) {
			total = found{min(total.values+part.values, math.MaxInt32), min(total.bytes+part.bytes, math.MaxInt32)}
		}
		if node.Alias != nil {
			add(count(node.Alias))
		}
		for _, part := range node.Content {
			add(count(part))
		}
		known[node] = total
		return total
	}
	for decoder := yaml.NewDecoder(strings.NewReader(text)); ; {
		var document yaml.Node
		if err := decoder.Decode(&document); err != nil {
			return values, bytes // the function returns the error
		}
		all := count(&document)
		values, bytes = values+all.values, bytes+all.bytes
	}
}

// madeOfText is the check of what a text became: a text may name numbers, and keys with one
// hash, which are refused elsewhere.
func madeOfText(result *ast.Term) error {
	var err error
	var walk func(*ast.Term) bool
	walk = func(term *ast.Term) bool {
		switch value := term.Value.(type) {
		case ast.Number:
			err = numberWithin(value)
		case ast.Object:
			if terms.Alike(value.Keys()) {
				err = exceeds("%v", terms.ErrAlike)
			}
		}
		return err != nil || anyPart(term, walk)
	}
	walk(result)
	return err
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
	if list, ok := term.Value.(*ast.Array); ok {
		longest = list.Len()
	}
	anyPart(term, func(part *ast.Term) bool {
		longest = max(longest, longestList(part))
		return false
	})
	return longest
}

// walked bounds walk, which makes a list of the keys to each value.
func walked(operands []*ast.Term) (int, error) {
	total := 0
	var walk func(term *ast.Term, depth int) bool
	walk = func(term *ast.Term, depth int) bool {
		total += depth
		return total > MaxCompared || anyPart(term, func(part *ast.Term) bool { return walk(part, depth+1) })
	}
	if walk(operands[0], 0); total > MaxCompared {
		return 0, exceeds("the paths to all values have more than %d keys; walk through a part", MaxCompared)
	}
	return total / keysPerStep, nil
}

// printed bounds print, which takes a set for each operand and prints each with each.
func printed(operands []*ast.Term) (int, error) {
	lines := 1
	for _, values := range elementsOf(operands[0]) {
		if lines *= max(1, size(values)); lines > MaxElements {
			return 0, exceeds("it would print more than %d lines; print the collections as a whole", MaxElements)
		}
	}
	return lines, nil
}

// rsaKeys bounds the keys to verify with: an RSA key takes more than the square of its
// length, and no key in use is longer than 2 KiB.
var rsaKeys = all(shorter(0, MaxParseBytes), shorter(1, 16<<10))

// shallow bounds the depth of a value that is indented.
func shallow(operands []*ast.Term) (int, error) {
	const deepest = 100
	var depth func(*ast.Term, int) bool
	depth = func(term *ast.Term, at int) (deep bool) {
		return at > deepest || anyPart(term, func(part *ast.Term) bool { return depth(part, at+1) })
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
