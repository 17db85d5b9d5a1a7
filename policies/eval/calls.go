package eval

import (
	"errors"
	"fmt"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/ir"
	"github.com/open-policy-agent/opa/v1/topdown"
)

// errLeft ends a function of OPA whose further results are not wanted.
var errLeft = errors.New("left")

// called is a function of OPA at one place of a policy.
type called struct {
	Function
	name     string
	place    *ast.Location
	relation bool // it has several results
	void     bool // it has none
}

func (c *compiler) function(s *ir.CallStmt) (*called, error) {
	f, known := c.functions(s.Func)
	if !known {
		return nil, fmt.Errorf("function %s is not available", s.Func)
	}
	builtin := ast.BuiltinMap[s.Func]
	declared := c.declared[s.Func]
	return &called{
		Function: f, name: s.Func, place: c.place(s),
		relation: builtin != nil && builtin.Relation,
		void:     declared != nil && declared.Decl.Result() == nil,
	}, nil
}

func (c *compiler) call(s *ir.CallStmt) (op, error) {
	target := int(s.Result)
	operands := make([]operand, len(s.Args))
	for i, argument := range s.Args {
		operands[i] = c.operand(argument)
	}
	if f := c.byName[s.Func]; f != nil {
		if len(operands) < len(f.parameters) { // a function where all rules below a name are asked
			return func(*machine, []*ast.Term) ctl { return undef }, nil
		}
		return func(m *machine, r []*ast.Term) ctl { return m.call(f, operands, r, target) }, nil
	}
	f, err := c.function(s)
	if err != nil {
		return nil, err
	}
	general := func(m *machine, r []*ast.Term) ctl { return m.callFunction(f, operands, r, target) }
	if native := c.native(f, operands, target, general); native != nil {
		return native, nil
	}
	return general, nil
}

// callFunction calls a function of OPA, which may call no rule.
func (m *machine) callFunction(f *called, operands []operand, r []*ast.Term, target int) ctl {
	values := m.operands[:0]
	for _, operand := range operands {
		value := operand.value(m, r)
		if value == nil {
			return undef
		}
		values = append(values, value)
	}
	m.operands = values[:0]
	if !m.mayGoOn() || m.partial && !m.knowsOperands(f, values) {
		return failed
	}
	if !m.admit(f, values...) {
		return m.outcome()
	}
	m.result, m.all = nil, nil
	give := m.give
	if f.relation {
		give = m.collect
	}
	m.builtin.Location = f.place
	if err := f.Call(m.builtin, values, give); err != nil {
		return m.functionFailed(err)
	}
	switch {
	case f.relation:
		m.result = ast.ArrayTerm(m.all...)
	case f.void:
		return next
	case m.result == nil:
		return undef
	}
	if f.Accept != nil {
		steps, err := f.Accept(m.result)
		if m.steps += int64(steps); err != nil {
			return m.functionFailed(f.fails(err))
		}
	}
	m.charge(m.result)
	r[target] = m.result
	return next
}

// admit asks whether a function may be called, and takes what that costs. Where it may
// not, outcome says how the statement ends.
func (m *machine) admit(f *called, operands ...*ast.Term) bool {
	if f.Admit == nil {
		return true
	}
	if f.Prepare != nil {
		m.prepare(f.Prepare, operands)
	}
	steps, err := f.Admit(operands)
	if m.steps += int64(steps); err != nil {
		m.functionFailed(f.fails(err))
		return false
	}
	return m.mayGoOn()
}

// maxPrepared is the number of prepared operands that OPA is assumed to store: it stores a hundred.
const maxPrepared = 64

// prepare charges for operands that are prepared, unless an earlier call has prepared them.
func (m *machine) prepare(p *Preparation, operands []*ast.Term) {
	key := p.Key(operands)
	if _, known := m.prepared[key]; known {
		return
	}
	switch {
	case m.prepared == nil:
		m.prepared = map[string]struct{}{}
	case len(m.prepared) == maxPrepared:
		clear(m.prepared)
	}
	m.prepared[key] = struct{}{}
	m.steps += int64(p.Steps(key))
}

// outcome is how a statement ends that cannot go on.
func (m *machine) outcome() ctl {
	if m.err != nil {
		return failed
	}
	return undef
}

// fails is the error of a function, as OPA words it.
func (f *called) fails(err error) error {
	return (&topdown.Error{Code: topdown.BuiltinErr, Message: f.name + ": " + err.Error(), Location: f.place}).Wrap(err)
}

// functionFailed notes the error of a function; the statement is undefined, unless the
// error ends the evaluation.
func (m *machine) functionFailed(err error) ctl {
	var halt topdown.Halt
	if errors.As(err, &halt) {
		return m.fail(halt.Err)
	}
	if m.strict {
		return m.fail(err)
	}
	m.errs = append(m.errs, err)
	m.steps += errorSteps
	m.bytes += errorBytes
	if failure, ok := err.(*topdown.Error); ok {
		m.bytes += 2 * int64(len(failure.Message)) // and that of the cause
	}
	return undef
}

// errorBytes is the size of an error without its message, and errorSteps the cost of one.
const (
	errorBytes = 256
	errorSteps = 15
)

// callDynamic calls the rule whose name is in registers.
func (c *compiler) callDynamic(s *ir.CallDynamicStmt) (op, error) {
	var path, operands []operand
	for _, part := range s.Path {
		path = append(path, c.operand(part))
	}
	for _, argument := range s.Args {
		operands = append(operands, operand{register: int(argument)})
	}
	target, byPath := int(s.Result), c.byPath
	return func(m *machine, r []*ast.Term) ctl {
		var name strings.Builder
		for i, part := range path {
			value := part.value(m, r)
			if value == nil {
				return undef
			}
			text, ok := value.Value.(ast.String)
			if !ok {
				if !m.knowsItself(value) {
					return failed
				}
				return undef
			}
			if i > 0 {
				name.WriteByte(0)
			}
			name.WriteString(string(text))
		}
		f := byPath[name.String()]
		if f == nil {
			return undef
		}
		// A rule that is undefined is looked for nowhere else: OPA plans three blocks
		// around for where there is no rule.
		if code := m.call(f, operands, r, target); code != undef {
			return code
		}
		return undef + 3
	}, nil
}

// native compiles calls of functions that are simple and frequent: nil for others. On
// operands of another type they are OPA's own, so that errors are, too.
func (c *compiler) native(f *called, operands []operand, target int, general op) op {
	if len(operands) == 0 {
		return nil
	}
	a, b := operands[0], operands[len(operands)-1]
	compare := func(test func(m *machine, x, y *ast.Term) bool) op {
		return func(m *machine, r []*ast.Term) ctl {
			x, y := a.value(m, r), b.value(m, r)
			if x == nil || y == nil {
				return undef
			}
			r[target] = boolean(test(m, x, y))
			return next
		}
	}
	order := func(test func(sign int) bool) op {
		return compare(func(m *machine, x, y *ast.Term) bool {
			return m.knows(x) && m.knows(y) && m.mayCompare(x, y) && test(ast.Compare(x.Value, y.Value))
		})
	}
	switch f.name {
	case ast.Equal.Name:
		return compare((*machine).equal)
	case ast.NotEqual.Name:
		return compare(func(m *machine, x, y *ast.Term) bool { return !m.equal(x, y) })
	case ast.GreaterThan.Name:
		return order(func(sign int) bool { return sign > 0 })
	case ast.GreaterThanEq.Name:
		return order(func(sign int) bool { return sign >= 0 })
	case ast.LessThan.Name:
		return order(func(sign int) bool { return sign < 0 })
	case ast.LessThanEq.Name:
		return order(func(sign int) bool { return sign <= 0 })
	case ast.Count.Name:
		return func(m *machine, r []*ast.Term) ctl {
			n := m.length(a.value(m, r))
			if n < 0 {
				return general(m, r)
			}
			r[target] = ast.InternedTerm(n)
			return next
		}
	case ast.ObjectGet.Name:
		return c.objectGet(operands, target, general)
	}
	return nil
}

// objectGet is object.get.
func (c *compiler) objectGet(operands []operand, target int, general op) op {
	object, path, fallback := operands[0], operands[1], operands[2]
	return func(m *machine, r []*ast.Term) ctl {
		found, at, otherwise := object.value(m, r), path.value(m, r), fallback.value(m, r)
		if found == nil || at == nil || otherwise == nil {
			return undef
		}
		if _, isObject := found.Value.(ast.Object); !isObject {
			return general(m, r)
		}
		keys, isPath := at.Value.(*ast.Array)
		if !isPath {
			found = m.part(found, at)
		} else {
			m.steps += int64(keys.Len())
			for i := 0; found != nil && i < keys.Len(); i++ {
				found = m.part(found, keys.Elem(i))
			}
		}
		if found == nil {
			found = otherwise
		}
		r[target] = found
		return next
	}
}

// keysOf is how many keys there are among which one is looked for by its hash.
func keysOf(collection ast.Value) int {
	switch value := collection.(type) {
	case ast.Object:
		return value.Len()
	case ast.Set:
		return value.Len()
	}
	return 0
}

// part is the element of a collection or document at a key: nil where there is none.
func (m *machine) part(t, key *ast.Term) *ast.Term {
	switch value := t.Value.(type) {
	case *documentValue:
		return value.part(m, key)
	case *conflicted:
		return m.partOfConflicted(value, key)
	}
	if m.partial && !m.mayLookUp(t, key) {
		return nil
	}
	if name, isName := key.Value.(ast.String); isName && len(name) < bytesComparedPerStep && m.placements == nil {
		return get(t, key) // as most are
	}
	if keysOf(t.Value) > 0 && !m.mayFind(key, t.Value) {
		return nil
	}
	return get(t, key)
}
