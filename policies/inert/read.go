package inert

import (
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/lintel-policy/lintel/policies/definition"
)

const (
	// maxNeeds limits the conditions read for one rule, and maxDepth how deep variables and
	// rules are followed. Conditions beyond the limits may hold.
	maxNeeds = 2000
	maxDepth = 20
)

// reader reads rules in the compiler's output: nested calls are split, and each part has its own
// variable.
type reader struct {
	compiler *ast.Compiler
	budget   int
	depth    int
}

// rule returns the requirements of the branches of a rule. args are the operands of a function,
// and value is what the value of the rule has to meet: nil for any value.
func (r *reader) rule(rule *ast.Rule, args []*ast.Term, value condition) *need {
	if r.budget--; r.budget < 0 || r.depth > maxDepth || rule.Default && value == nil {
		return nil
	}
	r.depth++
	defer func() { r.depth-- }()
	var branches []*need
	for branch := rule; branch != nil; branch = branch.Else {
		known := bindingsOf(branch, args)
		needs := r.body(branch.Body, known)
		if value != nil && branch.Head.Value != nil {
			needs = allOf(needs, value(branch.Head.Value, known))
		}
		branches = append(branches, needs)
	}
	return anyOf(branches)
}

func anyOf(needs []*need) *need {
	if len(needs) == 0 || slices.Contains(needs, nil) {
		return nil
	}
	needs = slices.DeleteFunc(needs, func(one *need) bool { return one == unmet })
	switch len(needs) {
	case 0:
		return unmet
	case 1:
		return needs[0]
	}
	return &need{any: needs}
}

// body returns the conditions under which all of a body is true.
func (r *reader) body(body ast.Body, known bindings) *need {
	r.bind(body, known)
	negated := r.onlyNegated(body, known)
	var all []*need
	for _, expr := range body {
		if one := r.nonNull(expr, known); one != nil {
			all = append(all, &need{atom: one})
		}
		if len(expr.With) > 0 {
			continue
		}
		if expr.Negated {
			all = append(all, r.fails(expr, known))
			continue
		}
		first := len(all)
		if one := r.compared(expr, known); one != nil {
			all = append(all, &need{atom: one})
		}
		for _, operand := range operands(expr) {
			all = append(all, r.defined(operand, expr, known, r.conditionOf(expr, operand, known)))
		}
		if expr.IsCall() {
			var args []*ast.Term
			for _, operand := range expr.Operands() {
				args = append(args, r.resolve(operand, known))
			}
			var value condition
			if r.output(expr) == nil {
				value = r.truthy
			}
			all = append(all, r.called(expr.Operator(), args, value), r.elements(expr, known))
		}
		if negated[r.generated(expr)] {
			for _, one := range all[first:] {
				one.setNegated()
			}
		}
	}
	return allOf(all...)
}

// conditionOf is truthy for an operand that has to be true, and nil for others.
func (r *reader) conditionOf(expr *ast.Expr, operand *ast.Term, known bindings) condition {
	if !expr.IsCall() {
		return r.truthy
	}
	if name := expr.Operator().String(); name != ast.Equality.Name && name != ast.Equal.Name {
		return nil
	}
	for _, other := range expr.Operands() {
		if other != operand && r.resolve(other, known).Value.Compare(ast.Boolean(true)) == 0 {
			return r.truthy
		}
	}
	return nil
}

// operands are the terms that have to be defined for an expression to hold.
func operands(expr *ast.Expr) []*ast.Term {
	switch terms := expr.Terms.(type) {
	case *ast.Term:
		return []*ast.Term{terms}
	case []*ast.Term:
		return terms[1:]
	default:
		return nil
	}
}

// inputPath returns the path of a term below input: empty if there is none, or if it is not
// constant.
func inputPath(term *ast.Term) string {
	ref, ok := term.Value.(ast.Ref)
	if !ok || len(ref) == 0 || !ref[0].Equal(ast.InputRootDocument) {
		return ""
	}
	var path []string
	for _, element := range ref[1:] {
		key, ok := element.Value.(ast.String)
		if !ok {
			return ""
		}
		path = append(path, string(key))
	}
	return strings.Join(path, ".")
}

// constants are the strings that a term can be; ok reports that there are no others.
func constants(term *ast.Term) (values []string, ok bool) {
	switch value := term.Value.(type) {
	case ast.String:
		return []string{string(value)}, true
	case ast.Ref:
		if len(value) == 2 && !value[1].IsGround() {
			return members(value[0])
		}
	}
	return nil, false
}

// members are the elements of a collection of strings.
func members(term *ast.Term) (values []string, ok bool) {
	var terms []*ast.Term
	switch value := term.Value.(type) {
	case ast.Set:
		terms = value.Slice()
	case *ast.Array:
		value.Foreach(func(element *ast.Term) { terms = append(terms, element) })
	default:
		return nil, false
	}
	for _, element := range terms {
		text, isText := element.Value.(ast.String)
		if !isText {
			return nil, false
		}
		values = append(values, string(text))
	}
	return values, len(values) > 0
}

// compared is the comparison of a part of the input with constants that an expression is:
// nil for others.
func (r *reader) compared(expr *ast.Expr, known bindings) *atom {
	at := definition.ErrorAt(expr.Location, "")
	if term, ok := expr.Terms.(*ast.Term); ok { // a set, looked into
		ref, ok := r.resolve(term, known).Value.(ast.Ref)
		if !ok || len(ref) != 2 {
			return nil
		}
		path := inputPath(r.resolve(ref[1], known))
		_, isSet := ref[0].Value.(ast.Set)
		if values, ok := members(ref[0]); ok && isSet && path != "" {
			return &atom{at: at, path: path, values: values}
		}
		return nil
	}
	if !expr.IsCall() || len(expr.Operands()) != 2 {
		return nil
	}
	a, b := r.resolve(expr.Operand(0), known), r.resolve(expr.Operand(1), known)
	read := constants
	switch operator := expr.Operator().String(); operator {
	case "internal.member_2":
		read = members
	case ast.Equality.Name, ast.Equal.Name, ast.NotEqual.Name:
		if inputPath(a) == "" {
			a, b = b, a
		}
		if operator == ast.NotEqual.Name {
			if _, one := b.Value.(ast.String); !one {
				return nil
			}
		}
	default:
		return nil
	}
	path := inputPath(a)
	if values, ok := read(b); ok && path != "" {
		return &atom{at: at, path: path, values: values, not: expr.Operator().String() == ast.NotEqual.Name}
	}
	return nil
}

// defined returns the conditions under which a term is defined and, if value is not nil, meets
// that condition.
func (r *reader) defined(term *ast.Term, expr *ast.Expr, known bindings, value condition) *need {
	resolved := r.resolve(term, known)
	ref, ok := resolved.Value.(ast.Ref)
	if !ok {
		call, isCall := resolved.Value.(ast.Call)
		if isCall && value != nil {
			return r.called(call[0].Value.(ast.Ref), call[1:], value)
		}
		return nil
	}
	if ref[0].Equal(ast.InputRootDocument) {
		prefix := ref.ConstantPrefix()
		if path := inputPath(ast.NewTerm(prefix)); path != "" {
			return &need{atom: &atom{at: definition.ErrorAt(expr.Location, ""), path: path, nonNull: len(prefix) < len(ref)}}
		}
		return nil
	}
	if !ref[0].Equal(ast.DefaultRootDocument) {
		if len(ref) > 1 {
			return r.nonEmpty(ref[0], known)
		}
		return nil
	}
	var rules []*need
	for _, rule := range r.compiler.GetRulesForVirtualDocument(ref) {
		own, value := rule.Ref(), value
		if len(rule.Head.Args) > 0 || len(ref) <= len(own.ConstantPrefix()) && (rule.Head.RuleKind() == ast.MultiValue || !own.IsGround()) {
			return nil // a set or an object is defined without elements, too
		}
		if len(ref) != len(own) || rule.Head.RuleKind() == ast.MultiValue {
			value = nil
		}
		rules = append(rules, r.rule(rule, nil, value))
	}
	return anyOf(rules)
}

// called returns the conditions under which the call of a function is defined and, if value is
// not nil, its result meets that condition.
func (r *reader) called(operator ast.Ref, args []*ast.Term, value condition) *need {
	if !operator[0].Equal(ast.DefaultRootDocument) {
		return nil
	}
	var rules []*need
	for _, rule := range r.compiler.GetRulesExact(operator) {
		rules = append(rules, r.rule(rule, args, value))
	}
	return anyOf(rules)
}

// absent are the parts of the input that a body requires to be undefined.
func (r *reader) absent(body ast.Body) (found []atom) {
	known := bindings{}
	r.bind(body, known)
	for _, expr := range body {
		term, ok := expr.Terms.(*ast.Term)
		if !ok || !expr.Negated || len(expr.With) > 0 {
			continue
		}
		if ref, isRef := r.resolve(term, known).Value.(ast.Ref); isRef {
			if path := inputPath(ast.NewTerm(ref.ConstantPrefix())); path != "" {
				found = append(found, atom{at: definition.ErrorAt(expr.Location, ""), path: path})
			}
		}
	}
	return found
}

// wrong are the comparisons of a rule with constants that no request has, wherever they are.
func (r *reader) wrong(rule *ast.Rule) (found definition.CompileErrorList) {
	known := bindings{}
	ast.WalkBodies(rule, func(body ast.Body) bool {
		own := bindings{}
		r.bind(body, own)
		for name, term := range own {
			if other, bound := known[name]; bound && (other == nil || !other.Equal(term)) {
				term = nil // a variable of the same name in another body
			}
			known[name] = term
		}
		return false
	})
	ast.WalkExprs(rule, func(expr *ast.Expr) bool {
		if one := r.compared(expr, known); one != nil {
			if why := impossible(one); why != "" {
				err := one.at
				err.Message = why
				found = append(found, err)
			}
		}
		return false
	})
	return found
}
