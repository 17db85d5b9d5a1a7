package eval

import (
	"fmt"

	"github.com/open-policy-agent/opa/v1/ast"
)

// A value of input may be unknown: it was masked before the input was stored. Policies may pass
// it on, and find out that it exists. An evaluation whose result depends on the value itself
// ends with an UnknownError.
//
// An unknown value is a variable: the values of a plan contain no other variables, and OPA
// caches in each collection whether there is one in it.

// UnknownError ends an evaluation that depends on an unknown value.
type UnknownError struct {
	// Reference is the location of the value, such as input.request.object.data.password.
	Reference string
}

func (e *UnknownError) Error() string {
	return fmt.Sprintf("the policy depends on %s, which is not known", e.Reference)
}

// NewUnknown returns a value that exists, and is otherwise unknown. Values with equal references
// are the same value.
func NewUnknown(reference string) *ast.Term { return ast.VarTerm(reference) }

// isUnknown reports whether the value itself is unknown, and not only a part of it.
func isUnknown(t *ast.Term) bool {
	_, is := t.Value.(ast.Var)
	return is
}

// UnknownIn returns an error for the first unknown value in a value, or nil if there is none.
func UnknownIn(value ast.Value) *UnknownError {
	if value == nil || value.IsGround() {
		return nil
	}
	var found *UnknownError
	visit := func(t *ast.Term) bool {
		if found == nil {
			found = UnknownIn(t.Value)
		}
		return found != nil
	}
	switch value := value.(type) {
	case ast.Var:
		return &UnknownError{string(value)}
	case *ast.Array:
		value.Until(visit)
	case ast.Set:
		value.Until(visit)
	case ast.Object:
		value.Until(func(key, value *ast.Term) bool { return visit(key) || visit(value) })
	}
	return found
}

// depends ends the evaluation.
func (m *machine) depends(t *ast.Term) ctl {
	if err := UnknownIn(t.Value); err != nil {
		m.stop(err)
	}
	return failed
}

// knows ends the evaluation if a value, or a part of it, is unknown. It is called before a
// value is read as a whole.
func (m *machine) knows(t *ast.Term) bool {
	if !m.partial || t == nil || t.IsGround() {
		return true
	}
	m.depends(t)
	return false
}

// knowsItself is knows without the parts of a collection.
func (m *machine) knowsItself(t *ast.Term) bool {
	if !m.partial || t == nil || !isUnknown(t) {
		return true
	}
	m.depends(t)
	return false
}

// mayLookUp ends the evaluation if it is unknown whether a collection has a key.
func (m *machine) mayLookUp(t, key *ast.Term) bool {
	if !m.knowsItself(t) || !m.knows(key) {
		return false
	}
	if set, isSet := t.Value.(ast.Set); isSet {
		return m.mayDiffer(set, key)
	}
	return true
}

// mayDiffer ends the evaluation if it is unknown whether a set has a member.
func (m *machine) mayDiffer(set ast.Set, member *ast.Term) bool {
	if set.IsGround() && member.IsGround() || set.Contains(member) {
		return true
	}
	var unknown *ast.Term
	set.Until(func(other *ast.Term) bool {
		if _, known := compareKnown(other.Value, member.Value); !known {
			unknown = other
			if other.IsGround() {
				unknown = member
			}
		}
		return unknown != nil
	})
	if unknown != nil {
		m.depends(unknown)
		return false
	}
	return true
}

// equalTerms compares two values. It ends the evaluation if the result is unknown.
func (m *machine) equalTerms(a, b *ast.Term) bool {
	if !m.partial || a.IsGround() && b.IsGround() {
		return a.Equal(b)
	}
	equal, known := compareKnown(a.Value, b.Value)
	if known {
		return equal
	}
	if a.IsGround() {
		a = b
	}
	m.depends(a)
	return false
}

// compareKnown reports whether values are equal, and whether that is known.
func compareKnown(a, b ast.Value) (equal, known bool) {
	if a.IsGround() && b.IsGround() || ast.Compare(a, b) == 0 {
		return ast.Compare(a, b) == 0, true
	}
	_, left := a.(ast.Var)
	_, right := b.(ast.Var)
	if left || right {
		return false, false
	}
	switch a := a.(type) {
	case *ast.Array:
		b, same := b.(*ast.Array)
		if !same || a.Len() != b.Len() {
			return false, true
		}
		return everyKnown(a.Len(), func(i int) (*ast.Term, *ast.Term) { return a.Elem(i), b.Elem(i) })
	case ast.Object:
		b, same := b.(ast.Object)
		if !same || a.Len() != b.Len() {
			return false, true
		}
		keys := a.Keys()
		return everyKnown(len(keys), func(i int) (*ast.Term, *ast.Term) { return a.Get(keys[i]), b.Get(keys[i]) })
	case ast.Set:
		b, same := b.(ast.Set)
		return false, !same || a.Len() != b.Len()
	}
	return false, true // a scalar, and a collection
}

// everyKnown compares the parts of two collections: a single known difference is enough.
func everyKnown(parts int, part func(int) (a, b *ast.Term)) (equal, known bool) {
	equal, known = true, true
	for i := range parts {
		a, b := part(i)
		if a == nil || b == nil {
			return false, true
		}
		same, certain := compareKnown(a.Value, b.Value)
		if certain && !same {
			return false, true
		}
		equal, known = equal && same, known && certain
	}
	return equal, known
}

// reachesUnknown reports whether the condition is about an unknown value.
func (g *guard) reachesUnknown(input *ast.Term) bool {
	for _, key := range g.path {
		if input == nil || isUnknown(input) {
			break
		}
		input = get(input, key)
	}
	return input != nil && !input.IsGround()
}

// structural are the functions of OPA that pass on parts of their first operand, and read none.
// Their other operands are read.
var structural = map[string]bool{
	ast.ArrayConcat.Name: true, ast.ArraySlice.Name: true, ast.ObjectKeys.Name: true,
	ast.ObjectRemove.Name: true, ast.ObjectFilter.Name: true,
}

// knowsOperands ends the evaluation if a function would read an unknown value.
func (m *machine) knowsOperands(f *called, operands []*ast.Term) bool {
	for i, operand := range operands {
		passes := structural[f.name] && (i == 0 || f.name == ast.ArrayConcat.Name)
		if passes && !m.knowsItself(operand) || !passes && !m.knows(operand) {
			return false
		}
	}
	return true
}

// knowsResults ends the evaluation if a result contains an unknown value.
func (m *machine) knowsResults(values []*ast.Term, given [][]Given) {
	for _, value := range values {
		m.knows(value)
	}
	for _, ofRule := range given {
		for _, one := range ofRule {
			m.knows(one.Value)
		}
	}
}
