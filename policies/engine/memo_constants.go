package engine

import (
	"slices"
	"strconv"

	"github.com/open-policy-agent/opa/v1/ast"
)

// constants are all the values that a term can have, whatever the input.
type constants struct {
	values  []ast.Value
	unknown bool
}

const maxConstants = 64

var unknownConstants = &constants{unknown: true}

func (c *constants) add(value ast.Value) *constants {
	switch {
	case c.unknown || len(c.values) >= maxConstants:
		return unknownConstants
	case slices.ContainsFunc(c.values, func(other ast.Value) bool { return other.Compare(value) == 0 }):
		return c
	}
	return &constants{values: append(slices.Clone(c.values), value)}
}

func (c *constants) union(other *constants) *constants {
	if other.unknown {
		return unknownConstants
	}
	for _, value := range other.values {
		c = c.add(value)
	}
	return c
}

// know notes what values a variable can have.
func (f *readFinder) know(of frame, name ast.Var, more *constants) {
	key := local{of, name}
	before := f.constants[key]
	if before == nil {
		before = &constants{}
	}
	after := before.union(more)
	if f.constants[key] == nil || after.unknown != before.unknown || len(after.values) != len(before.values) {
		f.constants[key], f.changed = after, true
	}
}

// constantsOf are the values of a term.
func (s *readScope) constantsOf(term *ast.Term) *constants {
	switch value := term.Value.(type) {
	case ast.String, ast.Number, ast.Boolean, ast.Null:
		return &constants{values: []ast.Value{value}}
	case ast.Var:
		if known := s.constants[local{s.frame, value}]; known != nil {
			return known
		}
	case *ast.Array, ast.Object, ast.Set:
		if isConstant(value) {
			return &constants{values: []ast.Value{value}}
		}
	case ast.Ref:
		return s.constantsAt(value)
	}
	return unknownConstants
}

// isConstant says whether there is nothing but constants in a value.
func isConstant(value ast.Value) bool {
	constant := true
	ast.NewGenericVisitor(func(node any) bool {
		switch node.(type) {
		case ast.Var, ast.Ref, *ast.ArrayComprehension, *ast.SetComprehension, *ast.ObjectComprehension, ast.Call, *ast.TemplateString:
			constant = false
		}
		return !constant
	}).Walk(value)
	return constant
}

func (s *readScope) constantsAt(ref ast.Ref) *constants {
	name, ok := ref[0].Value.(ast.Var)
	switch {
	case !ok:
		return unknownConstants
	case name.Equal(ast.InputRootDocument.Value):
		return s.constantInput(ref)
	case name.Equal(ast.DefaultRootDocument.Value):
		return s.constantRule(ref)
	}
	return s.parts(s.constantsOf(ref[0]), ref[1:])
}

// constantInput knows the parameters, and the operation.
func (s *readScope) constantInput(ref ast.Ref) *constants {
	if s.mocked || len(ref) < 2 {
		return unknownConstants
	}
	parameters, request := s.policy.set.parameters, "request"
	if s.policy.constraint != nil {
		parameters, request = s.policy.constraint.Parameters, "review"
	}
	switch {
	case ref[1].Equal(ast.InternedTerm("parameters")) && parameters != nil:
		return s.parts(&constants{values: []ast.Value{parameters.Value}}, ref[2:])
	case ref[1].Equal(ast.InternedTerm(request)) && len(ref) == 3 && ref[2].Equal(ast.InternedTerm("operation")) && s.operation != "":
		s.asked = true
		return &constants{values: []ast.Value{ast.String(s.operation)}}
	}
	return unknownConstants
}

// constantRule knows rules that give nothing but constants.
func (s *readScope) constantRule(ref ast.Ref) *constants {
	if s.mocked {
		return unknownConstants
	}
	prefix := constantPrefix(ref)
	for i := len(prefix); i > 1; i-- {
		rules := s.documents.rules[prefix[:i].String()]
		if len(rules) == 0 {
			continue
		}
		out := &constants{}
		if !s.effort.spend(10 * len(rules)) {
			return unknownConstants
		}
		for _, rule := range rules {
			if len(rule.Head.Args) > 0 || rule.Head.RuleKind() == ast.MultiValue || len(constantPrefix(rule.Ref())) != len(rule.Ref()) {
				return unknownConstants
			}
			for branch := rule; branch != nil; branch = branch.Else {
				out = out.union(s.givenBy(branch))
			}
		}
		if s.documents.root.isShared(prefix[:i]) {
			return unknownConstants
		}
		return s.parts(out, ref[i:])
	}
	return unknownConstants
}

// givenBy are the values of a rule, where its body has been looked at.
func (s *readScope) givenBy(rule *ast.Rule) *constants {
	if rule.Head.Value == nil {
		return unknownConstants
	}
	of := s.scope(frame{rule: rule})
	if name, ok := rule.Head.Value.Value.(ast.Var); ok && s.constants[local{of.frame, name}] == nil {
		for _, expr := range rule.Body {
			if defined, source := equalTo(expr); source != nil && defined == name {
				return of.constantsOf(source)
			}
		}
		return unknownConstants
	}
	return of.constantsOf(rule.Head.Value)
}

// equalTo reads `variable = term`.
func equalTo(expr *ast.Expr) (ast.Var, *ast.Term) {
	if expr.IsEquality() && !expr.Negated {
		if name, ok := expr.Operand(0).Value.(ast.Var); ok {
			return name, expr.Operand(1)
		}
	}
	return "", nil
}

// parts are the values at a path of values.
func (s *readScope) parts(of *constants, path ast.Ref) *constants {
	for _, step := range path {
		if of.unknown {
			return of
		}
		keys := unknownConstants
		if name, ok := step.Value.(ast.Var); !ok || s.bound.Contains(name) {
			keys = s.constantsOf(step)
		}
		next := &constants{}
		for _, value := range of.values {
			next = next.union(members(value, keys))
		}
		of = next
	}
	return of
}

// members are those under one of the keys, or under any where these are unknown.
func members(value ast.Value, keys *constants) *constants {
	out := &constants{}
	visit := func(key, member *ast.Term) {
		if keys.unknown || slices.ContainsFunc(keys.values, func(other ast.Value) bool { return other.Compare(key.Value) == 0 }) {
			out = out.add(member.Value)
		}
	}
	switch value := value.(type) {
	case *ast.Array:
		for i := range value.Len() {
			visit(ast.IntNumberTerm(i), value.Elem(i))
		}
	case ast.Object:
		value.Foreach(visit)
	case ast.Set:
		value.Foreach(func(member *ast.Term) { visit(member, member) })
	}
	return out
}

// gotten are the values that object.get gives.
func (s *readScope) gotten(operands []*ast.Term, paths *constants) *constants {
	objects, fallback := s.constantsOf(operands[0]), s.constantsOf(operands[2])
	if objects.unknown {
		return unknownConstants
	}
	out := fallback
	for _, path := range paths.values {
		steps, ok := path.(*ast.Array)
		if !ok {
			steps = ast.NewArray(ast.NewTerm(path))
		}
		var ref ast.Ref
		steps.Foreach(func(step *ast.Term) { ref = append(ref, step) })
		out = out.union(s.parts(objects, ref))
	}
	return out
}

// exact is the only value that a term can have: none where it is undefined.
func (s *readScope) exact(term *ast.Term) (value ast.Value, known bool) {
	var path ast.Ref
	if ref, ok := term.Value.(ast.Ref); ok {
		for _, step := range ref[1:] {
			if !ast.IsScalar(step.Value) || !isPlain(step.Value) {
				return nil, false
			}
		}
		if name, isVar := ref[0].Value.(ast.Var); isVar && !name.Equal(ast.InputRootDocument.Value) {
			if name.Equal(ast.DefaultRootDocument.Value) {
				return nil, false // a rule may be undefined
			}
			term, path = ref[0], ref[1:]
		}
	}
	heads := s.constantsOf(term)
	if heads.unknown || len(path) > 0 && len(heads.values) != 1 {
		return nil, false
	}
	found := s.parts(heads, path)
	switch {
	case found.unknown || len(found.values) > 1:
		return nil, false
	case len(found.values) == 0:
		return nil, true
	}
	return found.values[0], isPlain(found.values[0])
}

// isPlain says whether all numbers in a value are integers as they are usually written.
// OPA does not find others by whatever is equal to them: list[1e0] is undefined, and
// 1e400 is not in {10e399}.
func isPlain(value ast.Value) bool {
	plain := true
	ast.NewGenericVisitor(func(node any) bool {
		if number, ok := node.(ast.Number); ok {
			n, isInteger := number.Int64()
			plain = plain && isInteger && strconv.FormatInt(n, 10) == string(number)
		}
		return !plain
	}).Walk(value)
	return plain
}

// neverHolds says that an expression is false or undefined for every input.
func (s *readScope) neverHolds(expr *ast.Expr) bool {
	if len(expr.With) > 0 {
		return false
	}
	holds, known := s.decided(expr)
	return known && holds == expr.Negated
}

// decided evaluates what does not depend on the input.
func (s *readScope) decided(expr *ast.Expr) (holds, known bool) {
	if term, ok := expr.Terms.(*ast.Term); ok {
		value, known := s.exact(term)
		return value != nil && value.Compare(ast.Boolean(false)) != 0, known
	}
	operands := expr.Operands()
	if len(operands) != 2 {
		return false, false
	}
	for _, operand := range operands {
		if name, ok := operand.Value.(ast.Var); ok && !s.bound.Contains(name) {
			return false, false // it gets its value here
		}
	}
	left, known1 := s.exact(operands[0])
	right, known2 := s.exact(operands[1])
	if !known1 || !known2 {
		return false, false
	}
	if left == nil || right == nil {
		return false, true
	}
	switch expr.Operator().String() {
	case ast.Equality.Name, ast.Equal.Name:
		return left.Compare(right) == 0, true
	case ast.NotEqual.Name:
		return left.Compare(right) != 0, true
	case ast.Member.Name:
		all := members(right, unknownConstants)
		return slices.ContainsFunc(all.values, func(value ast.Value) bool { return value.Compare(left) == 0 }), !all.unknown
	}
	return false, false
}

// isInput says that a variable stands for a part of the input, which has no sets.
func (s *readScope) isInput(head *ast.Term, depth int) bool {
	name, _ := head.Value.(ast.Var)
	source := s.aliasesOf(s.rule)[name]
	if source == nil || depth > 100 {
		return false
	}
	return source[0].Equal(ast.InputRootDocument) || s.isInput(source[0], depth+1)
}

// aliasesOf are the references that variables of a rule stand for, where nothing else
// can give them a value: two bodies may use one name.
func (f *readFinder) aliasesOf(rule *ast.Rule) map[ast.Var]ast.Ref {
	if found := f.aliases[rule]; found != nil {
		return found
	}
	v := variables{defined: map[ast.Var][]ast.Ref{}, escaped: map[ast.Var]bool{}}
	ast.WalkExprs(rule, func(expr *ast.Expr) bool {
		if name, ref := definition(expr); ref != nil {
			v.defined[name] = append(v.defined[name], ref)
		}
		return false
	})
	v.escape(rule)
	found := map[ast.Var]ast.Ref{}
	for name, refs := range v.defined {
		if v.follows(name) {
			found[name] = refs[0]
		}
	}
	f.aliases[rule] = found
	return found
}
