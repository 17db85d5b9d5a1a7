package sandbox

import (
	"math/big"
	"math/bits"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/topdown/builtins"

	"github.com/lintel-policy/lintel/policies/eval"
	"github.com/lintel-policy/lintel/policies/terms"
)

// This file has the checks of table.go that are about numbers: how long they become, and
// how far they count.

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
		return 0, nil // the function returns the error
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
	value, err := builtins.NumberToInt(number) // as the functions do: 1e9 and 1.0 are integers, too
	if err != nil {
		return nil
	}
	return value
}

// shifted bounds bits.lsh.
func shifted(operands []*ast.Term) (int, error) {
	if by := integer(operands[1]); by != nil && (!by.IsInt64() || by.Int64() > 3*terms.MaxNumberDigits) {
		return 0, exceeds("a shift by more than %d bits", 3*terms.MaxNumberDigits)
	}
	return 0, nil
}

// multiplied bounds product.
func multiplied(operands []*ast.Term) (int, error) {
	digits := 0
	for _, factor := range elementsOf(operands[0]) {
		if number, ok := factor.Value.(ast.Number); ok {
			digits += digitsOf(string(number))
		}
	}
	if digits > terms.MaxNumberDigits {
		return 0, exceeds("the product would have more than %d digits", terms.MaxNumberDigits)
	}
	return digits, nil
}

// ordered bounds functions that put the elements of a collection in order, or find the
// first or last: what numbers there are within, at any depth, may be long ones.
func ordered(operands []*ast.Term) (int, error) {
	long := countLongNumbers(operands[0])
	work := long * longNumber * bits.Len(uint(size(operands[0])))
	if work > MaxMatchWork {
		return 0, exceeds("putting %d numbers of more than 15 digits in order is too much work", long)
	}
	return work / nodesPerStep, nil
}

// countLongNumbers counts those in a value, without those in sets: their cost was charged when the
// set was created.
func countLongNumbers(term *ast.Term) (count int) {
	switch value := term.Value.(type) {
	case ast.Number:
		if eval.IsLong(value) {
			return 1
		}
	case *ast.Array:
		for i := range value.Len() {
			count += countLongNumbers(value.Elem(i))
		}
	case ast.Object:
		value.Foreach(func(key, value *ast.Term) { count += countLongNumbers(key) + countLongNumbers(value) })
	}
	return count
}

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
