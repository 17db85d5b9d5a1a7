package eval

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"github.com/open-policy-agent/opa/v1/ast"
)

// Limits bound one evaluation; zero means unlimited.
type Limits struct {
	// Steps limits the work: see the package documentation.
	Steps int64
	// Bytes limits the values that are created: each value that becomes part of another counts
	// with all its parts, as often as they occur in it.
	Bytes int64
	// Pace is called with the steps so far, after every stepsPerLook of them. It may wait, so that
	// other evaluations run. nil is never called.
	Pace func(ctx context.Context, steps int64)
}

// Names of limits in LimitError.
const (
	LimitSteps = "steps"
	LimitBytes = "bytes"
	// LimitTimeout is the deadline of the context, which is that of the whole review.
	LimitTimeout = "timeout"
)

// LimitError ends an evaluation that has reached a limit.
type LimitError struct {
	// Limit is one of LimitSteps, LimitBytes and LimitTimeout.
	Limit   string
	Message string
}

func (e *LimitError) Error() string { return e.Message }

const (
	// stepsPerLook is how many steps there are between two checks of the context.
	stepsPerLook = 500
	// bytesPerStep is how many bytes of created values cost a step.
	bytesPerStep = 256
)

// work is the number of steps so far.
func (m *machine) work() int64 { return m.steps + m.bytes/bytesPerStep }

// mayGoOn reports whether the evaluation may go on. It is called for every call and every turn
// of a loop.
func (m *machine) mayGoOn() bool {
	if m.err != nil {
		return false
	}
	if m.work() < m.look && m.bytes <= m.limits.Bytes {
		return true
	}
	return m.isWithinLimits()
}

// isWithinLimits compares the work with the limits, looks at the context, and paces the
// evaluation.
func (m *machine) isWithinLimits() bool {
	work := m.work()
	switch {
	case work > m.limits.Steps:
		m.stop(&LimitError{LimitSteps, fmt.Sprintf("it took more than %d steps: iterate over less, or in fewer nested loops", m.limits.Steps)})
		return false
	case m.bytes > m.limits.Bytes:
		m.stop(&LimitError{LimitBytes, fmt.Sprintf("it made values of more than %d MiB: keep only the parts that are needed", m.limits.Bytes>>20)})
		return false
	}
	if work < m.look {
		return true
	}
	m.look = min(work+stepsPerLook, m.limits.Steps+1)
	if m.limits.Pace != nil {
		m.limits.Pace(m.ctx, work)
	}
	if err := m.ctx.Err(); err != nil {
		m.stop(&LimitError{LimitTimeout, "the request's own deadline passed: " + context.Cause(m.ctx).Error()})
		return false
	}
	return true
}

// stop ends the evaluation with an error, the first of them.
func (m *machine) stop(err error) {
	if m.err == nil {
		m.err = err
	}
}

func (m *machine) fail(err error) ctl {
	m.stop(err)
	return failed
}

// The cost of a value in bytes, in addition to those of its strings and numbers: about its size
// in memory.
const valueBytes = 32

// charge counts a value that becomes part of another. It walks through all of it: values share
// their parts, so that forty lists of two can be one of 2^40, and a comparison, conversion or
// output of such a value walks through it, too.
func (m *machine) charge(t *ast.Term) { m.walk(t) }

// copied counts the elements of a collection that is copied, its parts left aside.
func (m *machine) copied(elements int) {
	m.bytes += 4 * valueBytes * int64(elements)
	m.steps += copiedSteps * int64(elements)
}

// copiedSteps is the cost of an element that is copied, in addition to its bytes.
const copiedSteps = 3

// walk counts a value with all its parts, up to the remaining limit.
func (m *machine) walk(t *ast.Term) (enough bool) {
	m.bytes += valueBytes
	switch value := t.Value.(type) {
	case ast.String:
		m.bytes += int64(len(value))
	case ast.Number:
		m.bytes += int64(len(value))
	case *ast.Array:
		for i := range value.Len() {
			if m.walk(value.Elem(i)) {
				return true
			}
		}
	case ast.Set:
		return value.Until(m.walkOne)
	case ast.Object:
		return value.Until(m.walkBoth)
	}
	return m.bytes > m.limits.Bytes
}

// comparedPerStep is how many values are compared for a step.
const comparedPerStep = 3

// bytesComparedPerStep is how many bytes of strings are compared, or hashed, for a step.
const bytesComparedPerStep = 1024

// mayCompare charges the steps of a comparison beyond its statement: the parts of the smaller
// of two values. It reports whether enough steps are left.
func (m *machine) mayCompare(a, b *ast.Term) bool {
	if ast.IsScalar(a.Value) || ast.IsScalar(b.Value) {
		m.steps += min(scalarWeight(a.Value), scalarWeight(b.Value))
		return m.mayGoOn()
	}
	smaller := int64(0)
	for most := int64(64); ; most *= 8 { // no more of the larger is counted than of the smaller
		smaller = min(m.weigh(a, most), m.weigh(b, most))
		if smaller <= most || smaller/comparedPerStep > m.limits.Steps-m.work() {
			break
		}
	}
	m.steps += smaller / comparedPerStep
	return m.mayGoOn()
}

// scalarWeight is the cost in steps of comparing or hashing a scalar, beyond that of a statement.
func scalarWeight(value ast.Value) int64 {
	switch value := value.(type) {
	case ast.String:
		return int64(len(value) / bytesComparedPerStep)
	case ast.Number:
		return stepsForNumber(value)
	}
	return 0
}

// weigh counts the values in a value up to a limit: a string as many as its length takes to
// compare, and a long number as the many that take as long.
func (m *machine) weigh(t *ast.Term, most int64) int64 {
	m.weight, m.mostWeight = 0, most
	m.addWeight(t)
	return m.weight
}

// addWeight adds the weight of a value, and reports whether the limit is exceeded.
func (m *machine) addWeight(t *ast.Term) (enough bool) {
	m.weight += 1 + comparedPerStep*scalarWeight(t.Value)
	switch value := t.Value.(type) {
	case *ast.Array:
		for i := range value.Len() {
			if m.addWeight(value.Elem(i)) {
				return true
			}
		}
	case ast.Set:
		return value.Until(m.weighOne)
	case ast.Object:
		return value.Until(m.weighBoth)
	}
	return m.weight > m.mostWeight
}

// digitsPerStep and longNumberSteps are the cost of a number that OPA converts to a fraction of
// two large integers.
const (
	longNumberSteps = 20
	digitsPerStep   = 2
)

// stepsForNumber is the cost in steps of comparing or hashing a number, beyond that of a statement.
func stepsForNumber(n ast.Number) int64 {
	if len(n) < 5 || !IsLong(n) {
		return 0
	}
	return longNumberSteps + digitsOf(n)/digitsPerStep
}

// NumberSteps is the cost in steps of an operation with a number, beyond that of a call.
func NumberSteps(n ast.Number) int { return int(stepsForNumber(n)) }

// digitsOf is how many digits a number has once its exponent is written out.
func digitsOf(n ast.Number) int64 {
	digits := int64(len(n))
	if i := strings.IndexAny(string(n), "eE"); i >= 0 {
		if power, err := strconv.Atoi(string(n[i+1:])); err == nil {
			digits += int64(max(power, -power))
		}
	}
	return digits
}

// sortedLongNumber is how often a long number is compared to sort it among others.
const sortedLongNumber = 20

// chargeOrder charges for sorting an element among others, which takes long if it is a long number.
func (m *machine) chargeOrder(t *ast.Term) {
	if n, isNumber := t.Value.(ast.Number); isNumber {
		m.steps += sortedLongNumber * stepsForNumber(n)
	}
}

// IsLong reports whether a number is one that OPA compares as a fraction of two large integers.
func IsLong(n ast.Number) bool {
	if _, isInteger := n.Int64(); isInteger {
		return false
	}
	const digits, exponent = 15, 250 // up to which it does without
	i := strings.IndexAny(string(n), "eE")
	if i < 0 {
		return len(n) > digits
	}
	power, err := strconv.Atoi(string(n[i+1:]))
	return i > digits || err != nil || power > exponent || power < -exponent
}

// Measure counts the values in a value, and the bytes of its strings and numbers, and stops
// at the limits: values share their parts, so that a small one may have more than can ever
// be walked through.
func Measure(t *ast.Term, maxValues, maxBytes int) (count, bytes int) {
	switch value := t.Value.(type) { // most, and there is nothing to walk through
	case ast.String:
		return 1, len(value)
	case ast.Number:
		return 1, len(value)
	case ast.Boolean, ast.Null:
		return 1, 0
	}
	m := measuringPool.Get().(*measuring)
	defer measuringPool.Put(m)
	m.count, m.bytes, m.maxValues, m.maxBytes = 0, 0, maxValues, maxBytes
	m.add(t)
	return m.count, m.bytes
}

// measuring is the state of Measure, pooled with the functions that visit collections.
type measuring struct {
	count, bytes, maxValues, maxBytes int
	one                               func(*ast.Term) bool
	both                              func(key, value *ast.Term) bool
}

var measuringPool = sync.Pool{New: func() any {
	m := &measuring{}
	m.one = m.add
	m.both = func(key, value *ast.Term) bool { return m.add(key) || m.add(value) }
	return m
}}

// add measures a value, and reports whether a limit is exceeded.
func (m *measuring) add(t *ast.Term) (enough bool) {
	m.count++
	switch value := t.Value.(type) {
	case ast.String:
		m.bytes += len(value)
	case ast.Number:
		m.bytes += len(value)
	case *ast.Array:
		return value.Until(m.one)
	case ast.Set:
		return value.Until(m.one)
	case ast.Object:
		return value.Until(m.both)
	}
	return m.count > m.maxValues || m.bytes > m.maxBytes
}
