package engine

import (
	"fmt"
	"strconv"
	"strings"
	"sync"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/topdown"
	"github.com/open-policy-agent/opa/v1/types"
)

// Limits on what a single call of a function may take and give. OPA cannot be
// stopped within one, so a call that could run long is refused before it runs.
const (
	// MaxStringBytes is the longest string a function takes or gives.
	MaxStringBytes = 1 << 20
	// MaxNumberDigits is the longest number, and its largest exponent.
	MaxNumberDigits = 1000
	// MaxElements is the largest list, set or object a function gives.
	MaxElements = 50_000
	// MaxNodes is how many values, nested ones included, a function may walk through.
	MaxNodes = 200_000
	// MaxMadeNodes and MaxMadeBytes are how many values, nested ones included, and how
	// many bytes of strings a value may have that a policy makes.
	MaxMadeNodes = 100_000
	MaxMadeBytes = 16 << 20
	// MaxCompared is how many values two operands of a comparison may have.
	MaxCompared = 4 << 20
	// MaxPatternBytes is the longest regular expression.
	MaxPatternBytes = 4096
	// MaxMatchWork bounds pattern size times text size of a regular expression.
	MaxMatchWork = 8 << 20
	// MaxParseBytes is the longest text to parse as YAML, certificate or token.
	MaxParseBytes = 256 << 10
)

// What a call costs in steps of StepBudget, so that many calls within the limits are
// bounded, too: memory follows the same measure.
const (
	bytesPerStep    = 64
	elementsPerStep = 2
	nodesPerStep    = 64
)

// limitFunctions puts the limits around the functions that policies may call.
// Standard functions can be replaced for the whole process only.
var limitFunctions = sync.OnceFunc(func() {
	registerBounded()
	for _, name := range allowedBuiltins {
		if original := topdown.GetBuiltin(name); original != nil {
			topdown.RegisterBuiltinFunc(name, limited(original, checks[name], ast.BuiltinMap[name].Decl.Result()))
			// Most are not handed the context of the evaluation, and with it the meter.
			ast.BuiltinMap[name].CanSkipBctx = false
		}
	}
})

// limitError is a refusal by a limit.
type limitError struct{ message string }

func (e *limitError) Error() string { return e.message }

func exceeds(format string, args ...any) error {
	return &limitError{fmt.Sprintf(format, args...)}
}

// check refuses operands, and says what a call with them costs in steps.
type check func(operands []*ast.Term) (steps int, err error)

// limited is the function within the limits.
func limited(original topdown.BuiltinFunc, special check, result types.Type) topdown.BuiltinFunc {
	isBoolean := result != nil && types.Compare(result, types.B) == 0
	return func(bctx topdown.BuiltinContext, operands []*ast.Term, iter func(*ast.Term) error) error {
		meter, _ := bctx.Cancel.(*meter)
		if err := meter.admit(operands, special); err != nil {
			return err
		}
		if isBoolean { // nothing to check
			return original(bctx, operands, iter)
		}
		call := calls.Get().(*call)
		call.meter, call.iter = meter, iter
		err := original(bctx, operands, call.give)
		if err == nil {
			err = call.refused
		}
		call.meter, call.iter, call.refused = nil, nil, nil
		calls.Put(call)
		return err
	}
}

// admit checks the operands of a call, and takes what it costs.
func (m *meter) admit(operands []*ast.Term, special check) error {
	steps := 0
	for _, operand := range operands {
		cost, err := checkTerm(operand)
		if err != nil {
			return err
		}
		steps += cost
	}
	if special != nil {
		cost, err := special(operands)
		if err != nil {
			return err
		}
		steps += cost
	}
	return m.spend(steps)
}

// call is one call of a function whose results are checked.
type call struct {
	meter   *meter
	iter    func(*ast.Term) error
	refused error
	give    func(*ast.Term) error // check
}

// calls keeps calls that are over: a policy makes hundreds.
var calls = sync.Pool{New: func() any {
	call := &call{}
	call.give = call.check
	return call
}}

func (c *call) check(result *ast.Term) error {
	if result == nil { // print has none
		return c.iter(nil)
	}
	cost, err := checkTerm(result)
	if err == nil {
		err = c.meter.spend(cost + size(result)/elementsPerStep)
	}
	if err != nil {
		c.refused = err // returned here, it would look like an error of the caller
		return nil
	}
	return c.iter(result)
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
		return 0, checkNumber(string(value))
	}
	if size(term) > MaxElements {
		return 0, exceeds("a collection has %d elements; the limit is %d", size(term), MaxElements)
	}
	return 0, nil
}

// checkNumber refuses numbers whose arithmetic could take long. text is JSON.
func checkNumber(text string) error {
	if len(text) > MaxNumberDigits {
		return exceeds("a number has more than %d digits", MaxNumberDigits)
	}
	i := strings.IndexAny(text, "eE")
	if i < 0 {
		return nil
	}
	exponent, err := strconv.Atoi(text[i+1:])
	if err != nil || exponent > MaxNumberDigits || exponent < -MaxNumberDigits {
		return exceeds("a number has an exponent beyond %d", MaxNumberDigits)
	}
	return nil
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

// nodes counts the values in a term, and the bytes of its strings, and stops at the
// limits: values share their parts, so that a small one may have more than can ever
// be walked through.
func nodes(term *ast.Term) (count, bytes int) {
	return nodesUpTo(term, MaxNodes, MaxStringBytes)
}

func nodesUpTo(term *ast.Term, maxNodes, maxBytes int) (count, bytes int) {
	switch value := term.Value.(type) { // most, and there is nothing to walk through
	case ast.String:
		return 1, len(value)
	case ast.Number:
		return 1, len(value)
	case ast.Boolean, ast.Null:
		return 1, 0
	}
	var walk func(*ast.Term) bool
	both := func(key, value *ast.Term) bool { return walk(key) || walk(value) }
	walk = func(term *ast.Term) (stop bool) {
		count++
		switch value := term.Value.(type) {
		case ast.String:
			bytes += len(value)
		case ast.Number:
			bytes += len(value)
		case *ast.Array:
			return value.Until(walk)
		case ast.Set:
			return value.Until(walk)
		case ast.Object:
			return value.Until(both)
		}
		return count > maxNodes || bytes > maxBytes
	}
	walk(term)
	return count, bytes
}
