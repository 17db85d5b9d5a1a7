package engine

import (
	"fmt"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/topdown"
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
)

// limitFunctions puts the limits around the functions that policies may call.
// Standard functions can be replaced for the whole process only.
var limitFunctions = sync.OnceFunc(func() {
	for _, name := range allowedBuiltins {
		if original := topdown.GetBuiltin(name); original != nil {
			topdown.RegisterBuiltinFunc(name, limited(original, checks[name]))
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
func limited(original topdown.BuiltinFunc, special check) topdown.BuiltinFunc {
	return func(bctx topdown.BuiltinContext, operands []*ast.Term, iter func(*ast.Term) error) error {
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
		meter, _ := bctx.Cancel.(*meter)
		if err := meter.spend(steps); err != nil {
			return err
		}
		var refused error
		err := original(bctx, operands, func(result *ast.Term) error {
			cost, err := checkTerm(result)
			if err == nil {
				cost += size(result) / elementsPerStep
				err = meter.spend(cost)
			}
			if err != nil {
				refused = err // returned here, it would look like an error of the caller
				return nil
			}
			return iter(result)
		})
		if err == nil {
			err = refused
		}
		return err
	}
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
	var walk func(*ast.Term) bool
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
			return value.Until(func(key, value *ast.Term) bool { return walk(key) || walk(value) })
		}
		return count > maxNodes || bytes > maxBytes
	}
	walk(term)
	return count, bytes
}

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

// textAt is a string operand; other types are for the function itself to refuse.
func textAt(operands []*ast.Term, i int) string {
	text, _ := operands[i].Value.(ast.String)
	return string(text)
}

// shorter bounds the bytes of a string operand.
func shorter(i, limit int) check {
	return func(operands []*ast.Term) (int, error) {
		if n := len(textAt(operands, i)); n > limit {
			return 0, exceeds("operand %d has %d bytes; the limit is %d", i+1, n, limit)
		}
		return 0, nil
	}
}

// matching bounds a regular expression at pattern applied to a text.
func matching(pattern, text int) check {
	return func(operands []*ast.Term) (int, error) {
		expression := textAt(operands, pattern)
		if len(expression) > MaxPatternBytes {
			return 0, exceeds("a pattern has %d bytes; the limit is %d", len(expression), MaxPatternBytes)
		}
		work := (len(expression) + 1) * repetition(expression) * (len(textAt(operands, text)) + 1)
		if work > MaxMatchWork {
			return 0, exceeds("a pattern of %d bytes on a text of %d bytes is too much work; match a shorter text", len(expression), len(textAt(operands, text)))
		}
		return work / (16 * bytesPerStep), nil
	}
}

// repetition is by how much counted repetitions such as x{100} may enlarge a
// pattern: their product, since they nest.
func repetition(pattern string) int {
	product := 1
	for rest := pattern; ; {
		_, after, found := strings.Cut(rest, "{")
		if !found {
			return product
		}
		largest := 1
		for _, digits := range strings.Split(strings.SplitN(after, "}", 2)[0], ",") {
			if n, err := strconv.Atoi(digits); err == nil {
				largest = max(largest, n)
			}
		}
		if product *= largest; product > MaxMatchWork {
			return MaxMatchWork
		}
		rest = after
	}
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

func checkBytes(count int) error {
	if count > MaxStringBytes {
		return exceeds("the result would have %d bytes; the limit is %d", count, MaxStringBytes)
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

// concatenated bounds concat.
func concatenated(operands []*ast.Term) (int, error) {
	_, bytes := nodes(operands[1])
	total := bytes + len(textAt(operands, 0))*size(operands[1])
	return total / bytesPerStep, checkBytes(total)
}

// replaced bounds replace: operands are text, old, new.
func replaced(operands []*ast.Term) (int, error) {
	text, old, replacement := textAt(operands, 0), textAt(operands, 1), textAt(operands, 2)
	return 0, checkBytes(len(text) + strings.Count(text, old)*len(replacement))
}

// replacedMany bounds strings.replace_n: operands are an object of patterns, text.
func replacedMany(operands []*ast.Term) (int, error) {
	patterns, ok := operands[0].Value.(ast.Object)
	if !ok {
		return 0, nil
	}
	text := textAt(operands, 1)
	longest := 1
	patterns.Foreach(func(_, value *ast.Term) {
		if replacement, ok := value.Value.(ast.String); ok {
			longest = max(longest, len(replacement))
		}
	})
	work := (len(text) + 1) * max(longest, patterns.Len())
	if work > 16*MaxStringBytes {
		return 0, exceeds("replacing %d patterns in %d bytes by up to %d is too much work", patterns.Len(), len(text), longest)
	}
	return work / bytesPerStep, nil
}

// rewritten bounds regex.replace: operands are text, pattern, new.
func rewritten(operands []*ast.Term) (int, error) {
	total := (len(textAt(operands, 0)) + 1) * (len(textAt(operands, 2)) + 1)
	if total > 16*MaxStringBytes {
		return 0, exceeds("the result could have %d bytes; the limit is %d", total, MaxStringBytes)
	}
	return total / bytesPerStep, nil
}

// formatted bounds sprintf: widths and precisions, and the size of what is printed.
func formatted(operands []*ast.Term) (int, error) {
	digits := 0
	for _, c := range textAt(operands, 0) {
		if c < '0' || c > '9' {
			digits = 0
			continue
		}
		if digits++; digits > 3 && strings.Contains(textAt(operands, 0), "%") {
			if width := wideVerb(textAt(operands, 0)); width != "" {
				return 0, exceeds("the verb %s is wider than 999", width)
			}
			break
		}
	}
	if strings.Contains(textAt(operands, 0), "*") && starVerb(textAt(operands, 0)) {
		return 0, exceeds("a width or precision * is not available; write the number")
	}
	return whole(1)(operands)
}

// wideVerb is the first formatting verb with a width or precision of four digits.
func wideVerb(format string) string {
	for rest := format; ; {
		_, after, found := strings.Cut(rest, "%")
		if !found {
			return ""
		}
		verb := after[:len(after)-len(strings.TrimLeft(after, "+-# 0123456789.[]"))]
		for _, number := range strings.FieldsFunc(verb, func(c rune) bool { return c < '0' || c > '9' }) {
			if len(strings.TrimLeft(number, "0")) > 3 {
				return "%" + verb
			}
		}
		rest = strings.TrimPrefix(after[len(verb):], "%")
	}
}

// starVerb says whether a formatting verb takes its width from an operand.
func starVerb(format string) bool {
	for rest := format; ; {
		_, after, found := strings.Cut(rest, "%")
		if !found {
			return false
		}
		tail := strings.TrimLeft(after, "+-# 0123456789.[]")
		if strings.HasPrefix(tail, "*") {
			return true
		}
		rest = strings.TrimPrefix(tail, "%")
	}
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
