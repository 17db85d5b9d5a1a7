package engine

import (
	"fmt"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
)

func (s *readScope) call(expr *ast.Expr, operands []*ast.Term) (possible bool) {
	operator := expr.Operator()
	if expr.IsEquality() || operator.Equal(ast.Assign.Ref()) {
		if s.neverHolds(expr) {
			s.use(operands[0], &demand{})
			s.use(operands[1], &demand{})
			return false
		}
		return s.unify(operands[0], operands[1])
	}
	if rules := s.documents.rules[operator.String()]; len(rules) > 0 && len(rules[0].Head.Args) > 0 {
		s.function(operator.String(), rules, operands)
		return true
	}
	builtin := ast.BuiltinMap[operator.String()]
	switch {
	case builtin == nil:
		s.give("it calls " + operator.String() + ", which is not known")
		return true
	case builtin.Nondeterministic || builtin.Name == clockBuiltin:
		s.give("it calls " + builtin.Name)
		return true
	}
	arity := min(builtin.Decl.Arity(), len(operands))
	s.builtin(builtin, operands[:arity], operands[arity:])
	return !s.neverHolds(expr)
}

// unify gives the variables of one side what the other has.
func (s *readScope) unify(left, right *ast.Term) (possible bool) {
	for _, sides := range [][2]*ast.Term{{left, right}, {right, left}} {
		name, ok := sides[0].Value.(ast.Var)
		if !ok || s.bound.Contains(name) {
			continue
		}
		known := s.constantsOf(sides[1])
		s.know(s.frame, name, known)
		s.told[name] = true
		s.use(sides[1], s.variable(s.frame, name))
		return known.unknown || len(known.values) > 0
	}
	for _, sides := range [][2]*ast.Term{{left, right}, {right, left}} {
		if !isPattern(sides[0]) || isPattern(sides[1]) {
			continue
		}
		s.use(sides[1], s.pattern(sides[0], s))
		return true
	}
	leftList, ok1 := left.Value.(*ast.Array)
	rightList, ok2 := right.Value.(*ast.Array)
	if ok1 && ok2 && leftList.Len() == rightList.Len() {
		for i := range leftList.Len() {
			s.unify(leftList.Elem(i), rightList.Elem(i))
		}
		return true
	}
	s.use(left, wholeDemand())
	s.use(right, wholeDemand())
	return true
}

func isPattern(term *ast.Term) bool {
	switch term.Value.(type) {
	case *ast.Array, ast.Object:
		return true
	}
	return false
}

// pattern is what a pattern wants of the value that it takes apart. Its variables are
// those of another scope, where they have a value only from there.
func (s *readScope) pattern(term *ast.Term, of *readScope) *demand {
	switch value := term.Value.(type) {
	case ast.Var:
		if !of.bound.Contains(value) {
			return of.variable(of.frame, value)
		}
	case *ast.Array:
		d := &demand{each: &demand{}}
		value.Foreach(func(element *ast.Term) { d.each.add(s.pattern(element, of), 0, s.effort) })
		return d
	case ast.Object:
		d := &demand{each: &demand{}}
		value.Foreach(func(key, element *ast.Term) {
			if name, ok := key.Value.(ast.String); ok {
				d.add(s.pattern(element, of).at(string(name)), 0, s.effort)
				return
			}
			d.add(wholeDemand(), 0, s.effort)
			of.use(key, wholeDemand())
			of.use(element, wholeDemand())
		})
		return d
	}
	of.use(term, wholeDemand())
	return wholeDemand()
}

// function wants of the operands what the bodies want of the arguments.
func (s *readScope) function(path string, rules []*ast.Rule, operands []*ast.Term) {
	arity := len(rules[0].Head.Args)
	context := s.contextOf(path, operands[:min(arity, len(operands))])
	for _, rule := range rules {
		for branch := rule; branch != nil; branch = branch.Else {
			callee := s.scope(frame{branch, context})
			names := map[ast.Var]int{}
			for _, argument := range branch.Head.Args {
				ast.WalkVars(argument, func(name ast.Var) bool { names[name]++; return false })
			}
			for name, times := range names {
				if times > 1 {
					s.into(s.variable(callee.frame, name), wholeDemand())
				}
			}
			for i, argument := range branch.Head.Args {
				if i >= len(operands) {
					break
				}
				if name, ok := argument.Value.(ast.Var); ok {
					s.know(callee.frame, name, s.constantsOf(operands[i]))
				}
				s.use(operands[i], s.pattern(argument, callee))
			}
		}
	}
	if len(operands) > arity {
		s.want(path+contextMark+context, s.output(operands[arity]))
		return
	}
	s.want(path+contextMark+context, &demand{})
}

const (
	// contextMark stands between a path and the constants of a call.
	contextMark = "\x00"
	// maxContexts is how many calls of a function are told apart.
	maxContexts = 16
)

// contextOf are the operands of a call that are known.
func (s *readScope) contextOf(path string, operands []*ast.Term) string {
	var context strings.Builder
	for i, operand := range operands {
		if known := s.constantsOf(operand); !known.unknown && len(known.values) == 1 && ast.IsScalar(known.values[0]) {
			fmt.Fprintf(&context, "%d=%v,", i, known.values[0])
		}
	}
	calls := s.calls[path]
	switch {
	case calls[context.String()]:
	case len(calls) >= maxContexts:
		return ""
	default:
		if calls == nil {
			s.calls[path] = map[string]bool{}
		}
		s.calls[path][context.String()] = true
	}
	return context.String()
}

// output is what is wanted of what a call gives.
func (s *readScope) output(operand *ast.Term) *demand { return s.pattern(operand, s) }

// messageFunctions give a string, and fail for nothing in their operands but the types
// and the limits on their size.
var messageFunctions = map[string]bool{"sprintf": true, "concat": true, "internal.template_string": true}

// typeFunctions look at the type of their operand alone. Of bounded that is not quite
// true: it also has its limit, which says nothing about the value.
var typeFunctions = map[string]bool{
	"is_array": true, "is_boolean": true, "is_null": true, "is_number": true, "is_object": true, "is_set": true,
	"is_string": true, "type_name": true,
}

func (s *readScope) builtin(builtin *ast.Builtin, operands, output []*ast.Term) {
	d := &demand{}
	for _, operand := range output {
		d = s.output(operand)
	}
	switch {
	case typeFunctions[builtin.Name]:
		for _, operand := range operands {
			s.use(operand, &demand{})
		}
		return
	case messageFunctions[builtin.Name] && d.onlySaid():
		for i, operand := range operands {
			if i == 0 && len(operands) > 1 { // the format, or what stands between
				s.use(operand, wholeDemand())
				continue
			}
			s.use(operand, &demand{said: true})
		}
		return
	case builtin.Name == ast.ObjectGet.Name && s.objectGet(operands, output, d):
		return
	}
	if builtin.Relation {
		s.iterates = true
	}
	for _, operand := range operands {
		s.use(operand, wholeDemand())
	}
}

// objectGet follows a path that is known.
func (s *readScope) objectGet(operands, output []*ast.Term, d *demand) bool {
	paths := s.constantsOf(operands[1])
	if paths.unknown {
		return false
	}
	wanted := &demand{}
	for _, path := range paths.values {
		steps, ok := path.(*ast.Array)
		if !ok {
			steps = ast.NewArray(ast.NewTerm(path))
		}
		part := d
		for i := steps.Len() - 1; i >= 0; i-- {
			if name, ok := steps.Elem(i).Value.(ast.String); ok {
				part = part.at(string(name))
			} else {
				part = &demand{each: part, keys: wholeDemand()} // of a set, whether it is in it
			}
		}
		wanted.add(part, 0, s.effort)
	}
	s.use(operands[0], wanted)
	s.use(operands[2], d)
	if len(output) == 1 {
		if name, ok := output[0].Value.(ast.Var); ok && !s.bound.Contains(name) {
			s.know(s.frame, name, s.gotten(operands, paths))
			s.told[name] = true
		}
	}
	return true
}
