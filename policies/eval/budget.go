package eval

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/open-policy-agent/opa/v1/ast"
)

// Limits bound one evaluation; zero means unlimited.
type Limits struct {
	// Steps is how many statements may run. What a function costs beyond its call, the
	// functions say (Function.Admit).
	Steps int64
	// Bytes limits the values that are created: each value that becomes part of another counts
	// with all its parts, as often as they occur in it.
	Bytes int64
	// Timeout is how long it may take.
	Timeout time.Duration
	// Pace is called every few microseconds with the current time. It may wait, so that other
	// evaluations run, and returns how long it waited: that does not count towards Timeout.
	// nil is never called.
	Pace func(ctx context.Context, now time.Time) (waited time.Duration)
}

// LimitError ends an evaluation that has reached a limit.
type LimitError struct {
	// Limit is steps, bytes or timeout, or cancelled where the context was.
	Limit   string
	Message string
}

func (e *LimitError) Error() string { return e.Message }

const (
	// clockEvery is how many calls and turns there are between two looks at the clock.
	clockEvery = 64
	// valuesPerTurn is how many values are compared or copied in the time of a turn.
	valuesPerTurn = 256
)

// wentThrough has the clock looked at sooner, after work on so many values.
func (m *machine) wentThrough(values int64) { m.sinceClock += values / valuesPerTurn }

// mayGoOn says whether the evaluation may go on: it is asked at every call and every turn of a
// loop.
func (m *machine) mayGoOn() bool {
	if m.err != nil {
		return false
	}
	switch {
	case m.steps > m.limits.Steps:
		m.stop(&LimitError{"steps", fmt.Sprintf("it took more than %d steps: iterate over less, or in fewer nested loops", m.limits.Steps)})
		return false
	case m.bytes > m.limits.Bytes:
		m.stop(&LimitError{"bytes", fmt.Sprintf("it made values of more than %d MiB: keep only the parts that are needed", m.limits.Bytes>>20)})
		return false
	}
	if m.sinceClock++; m.sinceClock < clockEvery {
		return true
	}
	m.sinceClock = 0
	return m.inTime()
}

// inTime looks at the clock.
func (m *machine) inTime() bool {
	if err := m.ctx.Err(); err != nil {
		m.stop(&LimitError{"cancelled", "the request's own deadline passed: " + context.Cause(m.ctx).Error()})
		return false
	}
	if m.limits.Timeout == 0 && m.limits.Pace == nil {
		return true
	}
	now := time.Now()
	if m.limits.Pace != nil {
		if waited := m.limits.Pace(m.ctx, now); waited > 0 {
			m.deadline, now = m.deadline.Add(waited), now.Add(waited)
		}
	}
	if m.limits.Timeout > 0 && m.overdue(now) {
		m.stop(&LimitError{"timeout", fmt.Sprintf("it took longer than its timeout of %s", m.limits.Timeout)})
		return false
	}
	return true
}

// overdue says whether the deadline has passed. The first time that it has, there is a
// tenth more from then on: what the machine did not let run, and has little left to do,
// comes to its end, and what never ends gains next to nothing.
func (m *machine) overdue(now time.Time) bool {
	switch {
	case !now.After(m.deadline):
		return false
	case m.extended:
		return true
	}
	m.extended, m.deadline = true, now.Add(m.limits.Timeout/10)
	return false
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
	m.wentThrough(int64(elements))
}

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
const comparedPerStep = 16

// mayCompare charges the steps of a comparison beyond its statement: the parts of the smaller
// of two collections. It reports whether enough steps are left.
func (m *machine) mayCompare(a, b *ast.Term) bool {
	if ast.IsScalar(a.Value) || ast.IsScalar(b.Value) {
		return true
	}
	smaller := int64(0)
	for most := 64; ; most *= 8 { // no more of the larger is counted than of the smaller
		left, _ := Measure(a, most, math.MaxInt)
		right, _ := Measure(b, most, math.MaxInt)
		smaller = int64(min(left, right))
		if smaller <= int64(most) || smaller/comparedPerStep > m.limits.Steps-m.steps {
			break
		}
	}
	m.steps += smaller / comparedPerStep
	m.wentThrough(smaller)
	return m.steps <= m.limits.Steps
}

// mayFind charges the cost of finding a key, or of inserting a new one, among others: OPA
// compares it with all keys that have the same hash. The hash of a number is its integer part,
// and that of a list the sum of those of its elements, so that it may be with each.
func (m *machine) mayFind(key *ast.Term, among int) bool {
	switch value := key.Value.(type) {
	case ast.String, ast.Boolean, ast.Null:
		return true
	case ast.Number:
		if IsLong(value) {
			m.steps += longNumber
		}
		m.wentThrough(int64(among))
	default:
		if among == 0 {
			return true
		}
		before := m.bytes
		m.walk(key)
		count := (m.bytes - before) / valueBytes
		m.bytes = before // it is not made, but looked at
		m.steps += count / comparedPerStep
		m.wentThrough(count * int64(among))
	}
	return m.steps <= m.limits.Steps
}

// longNumber is the cost in steps of sorting a long number among others.
const longNumber = 200

// IsLong says whether a number is one that OPA compares as a fraction of two large integers.
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
	var walk func(*ast.Term) bool
	both := func(key, value *ast.Term) bool { return walk(key) || walk(value) }
	walk = func(t *ast.Term) (stop bool) {
		count++
		switch value := t.Value.(type) {
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
		return count > maxValues || bytes > maxBytes
	}
	walk(t)
	return count, bytes
}
