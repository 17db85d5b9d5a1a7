package sandbox

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/topdown"

	"github.com/lintel-policy/lintel/policies/eval"
	"github.com/lintel-policy/lintel/policies/terms"
)

// Limits on what a single call of a function may take and give. OPA cannot be
// stopped within one, so a call that could run long is refused before it runs.
const (
	// MaxStringBytes is the longest string a function takes or gives.
	MaxStringBytes = 1 << 20
	// MaxElements is the largest list, set or object a function gives.
	MaxElements = 50_000
	// MaxNodes is how many values, nested ones included, a function may walk through.
	MaxNodes = 200_000
	// MaxMadeNodes is how many values, nested ones included, a text to parse may become.
	MaxMadeNodes = 100_000
	// MaxCompared is how many values two operands of a comparison may have.
	MaxCompared = 4 << 20
	// MaxPatternBytes is the longest regular expression.
	MaxPatternBytes = 4096
	// MaxMatchWork bounds pattern size times text size of a regular expression.
	MaxMatchWork = 8 << 20
	// MaxParseBytes is the longest text to parse as YAML, certificate or token.
	MaxParseBytes = 256 << 10
)

// What a call costs, so that many calls within the limits are bounded, too: memory follows
// the same measure. A unit is as much work as stepsPerUnit statements.
const (
	bytesPerStep    = 48
	elementsPerStep = 2
	nodesPerStep    = 64
	stepsPerUnit    = 5
)

// Function are the functions that policies may call, within the limits.
func Function(name string) (eval.Function, bool) {
	f, known := limitedFunctions()[name]
	return f, known
}

// Allows says whether policies may call a function of OPA, or an operator.
func Allows(function string) bool { return slices.Contains(allowedBuiltins, function) }

var limitedFunctions = sync.OnceValue(func() map[string]eval.Function {
	all := map[string]eval.Function{}
	for _, name := range allowedBuiltins {
		if call := topdown.GetBuiltin(name); call != nil {
			all[name] = eval.Function{Call: call, Admit: admits(name), Accept: accepts, Prepare: preparations[name]}
			switch f := all[name]; name {
			case "graph.reachable":
				f.Call = reachable(call)
				all[name] = f
			case "replace":
				f.Call = replacing(call)
				all[name] = f
			case "json.unmarshal", "yaml.unmarshal":
				f.Accept = func(result *ast.Term) (int, error) {
					steps, err := accepts(result)
					return steps, cmp.Or(err, madeOfText(result))
				}
				all[name] = f
			}
		}
	}
	return all
})

// LimitError is a refusal by a limit.
type LimitError struct{ message string }

// Error says what the limit is.
func (e *LimitError) Error() string { return e.message }

func exceeds(format string, args ...any) error {
	return &LimitError{fmt.Sprintf(format, args...)}
}

// checkFunc refuses operands, and says what a call with them costs in steps.
type checkFunc func(operands []*ast.Term) (steps int, err error)

// refusedSteps is the cost of a call that is refused: the check may have walked through MaxNodes
// values.
const refusedSteps = 20_000

// fractionUnits is the cost of a number that is not an integer, with which OPA calculates by large
// ones.
const fractionUnits = 5

// admits is the check of all operands, and the special one of a function, if it has one.
func admits(function string) checkFunc {
	special, base := checks[function], cmp.Or(callSteps[function], defaultCallSteps)
	return func(operands []*ast.Term) (steps int, err error) {
		for _, operand := range operands {
			cost, err := checkTerm(operand)
			if err != nil {
				return refusedSteps, err
			}
			steps += cost
		}
		if special != nil {
			cost, err := special(operands)
			if err != nil {
				return refusedSteps + cost*stepsPerUnit, err
			}
			steps += cost
		}
		return base + steps*stepsPerUnit, nil
	}
}

// accepts is the check of a result.
func accepts(result *ast.Term) (steps int, err error) {
	if result == nil { // print has none
		return 0, nil
	}
	steps, err = checkTerm(result)
	return (steps + size(result)/elementsPerStep) * stepsPerUnit, err
}

// checkTerm applies the limits that hold for every operand and result.
func checkTerm(term *ast.Term) (steps int, err error) {
	switch value := term.Value.(type) {
	case ast.String:
		if len(value) > MaxStringBytes {
			return 0, exceeds("a string has %d bytes; the limit is %d", len(value), MaxStringBytes)
		}
		return len(value) / bytesPerStep, nil
	case ast.Number:
		steps := eval.NumberSteps(value) / stepsPerUnit
		if _, isInteger := value.Int64(); !isInteger {
			steps += fractionUnits
		}
		return steps, numberWithin(value)
	}
	if size(term) > MaxElements {
		return 0, exceeds("a collection has %d elements; the limit is %d", size(term), MaxElements)
	}
	return size(term) / nodesPerStep, nil
}

// numberWithin refuses numbers whose arithmetic could take long.
func numberWithin(number ast.Number) error {
	if err := terms.CheckNumber(string(number)); err != nil {
		return exceeds("%v", err)
	}
	return nil
}

// digitsOf is how many digits a number has once its exponent is written out.
func digitsOf(text string) int {
	if i := strings.IndexAny(text, "eE"); i >= 0 {
		exponent, err := strconv.Atoi(text[i+1:])
		if err != nil {
			return math.MaxInt32
		}
		return i + max(exponent, -exponent)
	}
	return len(text)
}

// size is the number of elements of a collection; 0 for anything else.
func size(term *ast.Term) int {
	switch value := term.Value.(type) {
	case *ast.Array:
		return value.Len()
	case ast.Set:
		return value.Len()
	case ast.Object:
		return value.Len()
	}
	return 0
}

// nodes is eval.Measure up to the limits of functions.
func nodes(term *ast.Term) (count, bytes int) {
	return eval.Measure(term, MaxNodes, MaxStringBytes)
}
