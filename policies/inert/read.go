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

// bindings are the terms that variables stand for.
type bindings map[ast.Var]*ast.Term

// rule returns the requirements of one branch of a rule. args are the operands of a function.
func (r *reader) rule(rule *ast.Rule, args []*ast.Term) *need {
	if r.budget--; r.budget < 0 || r.depth > maxDepth || rule.Default {
		return nil
	}
	r.depth++
	defer func() { r.depth-- }()
	var branches []*need
	for branch := rule; branch != nil; branch = branch.Else {
		known := bindings{}
		for i, arg := range branch.Head.Args {
			if name, ok := arg.Value.(ast.Var); ok && i < len(args) {
				known[name] = args[i]
			}
		}
		branches = append(branches, r.body(branch.Body, known))
	}
	return anyOf(branches)
}

func anyOf(needs []*need) *need {
	if len(needs) == 0 || slices.Contains(needs, nil) {
		return nil
	}
	if len(needs) == 1 {
		return needs[0]
	}
	return &need{any: needs}
}

// body returns the conditions under which all of a body is true.
func (r *reader) body(body ast.Body, known bindings) *need {
	r.bind(body, known)
	var all []*need
	for _, expr := range body {
		if one := r.nonNull(expr, known); one != nil {
			all = append(all, &need{atom: one})
		}
		if expr.Negated || len(expr.With) > 0 {
			continue
		}
		if one := r.compared(expr, known); one != nil {
			all = append(all, &need{atom: one})
		}
		for _, operand := range operands(expr) {
			if one := r.defined(operand, expr, known); one != nil {
				all = append(all, one)
			}
		}
		if expr.IsCall() {
			var args []*ast.Term
			for _, operand := range expr.Operands() {
				args = append(args, r.resolve(operand, known))
			}
			if one := r.called(expr.Operator(), args); one != nil {
				all = append(all, one)
			}
		}
	}
	if len(all) == 0 {
		return nil
	}
	return &need{all: all}
}

// bind finds the values of a body's variables: of several terms, which have to be equal, the
// first.
func (r *reader) bind(body ast.Body, known bindings) {
	add := func(name, value *ast.Term) {
		if variable, ok := name.Value.(ast.Var); ok && known[variable] == nil {
			known[variable] = value
		}
	}
	for _, expr := range body {
		if operator := expr.Operator(); expr.Negated || len(expr.With) > 0 || operator == nil || !operator.Equal(ast.Equality.Ref()) || len(expr.Operands()) != 2 {
			continue
		}
		a, b := expr.Operand(0), expr.Operand(1)
		if _, isVar := a.Value.(ast.Var); isVar {
			add(a, b)
		} else {
			add(b, a)
		}
	}
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

// resolve replaces variables by their values.
func (r *reader) resolve(term *ast.Term, known bindings) *ast.Term {
	for range maxDepth {
		switch value := term.Value.(type) {
		case ast.Var:
			if known[value] == nil {
				return term
			}
			term = known[value]
		case ast.Ref:
			name, ok := value[0].Value.(ast.Var)
			if !ok || known[name] == nil {
				return r.constantRule(term)
			}
			head := r.constantRule(known[name])
			switch inner := head.Value.(type) {
			case ast.Ref:
				term = ast.NewTerm(inner.Concat(value[1:]))
			case ast.Var:
				term = ast.NewTerm(append(ast.Ref{head}, value[1:]...))
				if known[inner] == nil {
					return term
				}
			default:
				return ast.NewTerm(append(ast.Ref{head}, value[1:]...))
			}
		default:
			return term
		}
	}
	return term
}

// constantRule replaces a reference to a constant rule by its value.
func (r *reader) constantRule(term *ast.Term) *ast.Term {
	ref, ok := term.Value.(ast.Ref)
	if !ok || !ref[0].Equal(ast.DefaultRootDocument) {
		return term
	}
	for n := 2; n <= len(ref); n++ {
		rules := r.compiler.GetRulesExact(ref[:n])
		if len(rules) != 1 || rules[0].Else != nil || len(rules[0].Head.Args) > 0 || rules[0].Head.Value == nil || !rules[0].Head.Value.IsGround() ||
			rules[0].Head.RuleKind() != ast.SingleValue || !rules[0].Body.Equal(ast.NewBody(ast.NewExpr(ast.BooleanTerm(true)))) {
			continue
		}
		if n == len(ref) {
			return rules[0].Head.Value
		}
		return ast.NewTerm(append(ast.Ref{rules[0].Head.Value}, ref[n:]...))
	}
	return term
}

// inputPath returns the path of a term below input: empty if there is none, or if it is not
// constant.
func inputPath(term *ast.Term) string {
	ref, ok := term.Value.(ast.Ref)
	if !ok || !ref[0].Equal(ast.InputRootDocument) {
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

// defined returns the conditions under which a term is defined.
func (r *reader) defined(term *ast.Term, expr *ast.Expr, known bindings) *need {
	resolved := r.resolve(term, known)
	ref, ok := resolved.Value.(ast.Ref)
	if !ok {
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
		return nil
	}
	var rules []*need
	for _, rule := range r.compiler.GetRulesForVirtualDocument(ref) {
		own := rule.Ref()
		if len(rule.Head.Args) > 0 || len(ref) <= len(own.ConstantPrefix()) && (rule.Head.RuleKind() == ast.MultiValue || !own.IsGround()) {
			return nil // a set or an object is defined without elements, too
		}
		rules = append(rules, r.rule(rule, nil))
	}
	return anyOf(rules)
}

// called returns the conditions under which the call of a function is defined.
func (r *reader) called(operator ast.Ref, args []*ast.Term) *need {
	if !operator[0].Equal(ast.DefaultRootDocument) {
		return nil
	}
	var rules []*need
	for _, rule := range r.compiler.GetRulesExact(operator) {
		rules = append(rules, r.rule(rule, args))
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
func (r *reader) wrong(rule *ast.Rule) (found definition.CompileErrors) {
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
