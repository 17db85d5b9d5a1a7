package engine

import (
	"fmt"

	"github.com/open-policy-agent/opa/v1/ast"
)

// OPA can be stopped between expressions, not within one, and a single expression
// can iterate over several collections: `input.a[_] == input.b[_]`, or
// `input.a[_][_] == 5`. The splitter, a compiler stage, takes such expressions apart
// so that each iterates over at most one collection; between any two steps of two
// nested iterations lies an expression, and with it the meter.
//
// It also has two values compared by the function equal, which has limits, where OPA
// would unify them: that takes a stack frame for each element, and a process cannot
// recover from a stack that is full. What is left to OPA is bounded by the size of
// values (bound.go).
type splitter struct {
	compiler *ast.Compiler
	next     int
	// mocksData and mocksFunctions say that a with of the source replaces documents
	// below data, or functions.
	mocksData, mocksFunctions bool
}

// splitStage is where the splitter works: everything is checked, and terms other than
// those of equalities are bound to variables already.
func splitStage() (ast.StageID, ast.CompilerStageDefinition) {
	return ast.StageCheckTypes, ast.CompilerStageDefinition{
		Name:       "SplitExpressions",
		MetricName: "lintel_split_expressions",
		Stage: func(c *ast.Compiler) *ast.Error {
			s := &splitter{compiler: c}
			for _, module := range c.Modules {
				s.readMocks(module)
			}
			for _, name := range sortedKeys(c.Modules) {
				ast.WalkRules(c.Modules[name], func(rule *ast.Rule) bool {
					bound := ast.NewVarSet()
					for _, argument := range rule.Head.Args {
						bound.Update(argument.Vars())
					}
					rule.Body = s.body(rule.Body, bound, rule.Head.Key, rule.Head.Value)
					return false // else branches follow
				})
			}
			return nil
		},
	}
}

func (s *splitter) readMocks(module *ast.Module) {
	ast.WalkWiths(module, func(with *ast.With) bool {
		target, ok := with.Target.Value.(ast.Ref)
		switch {
		case ok && target.HasPrefix(ast.DefaultRootRef):
			s.mocksData = true
		case !ok || !target.HasPrefix(ast.InputRootRef):
			s.mocksFunctions = true
		}
		return false
	})
}

// body splits the expressions of a body and of the bodies within it. bound are the
// variables that have a value before it; the expressions are in the order in which
// they are evaluated. heads are what the body gives; they may be nil.
func (s *splitter) body(body ast.Body, bound ast.VarSet, heads ...*ast.Term) ast.Body {
	bound = bound.Copy()
	var out ast.Body
	emit := func(expr *ast.Expr) {
		grown := s.grown(expr, bound)
		if !expr.Negated {
			bound.Update(expr.Vars(ast.VarVisitorParams{SkipClosures: true, SkipRefCallHead: true}))
		}
		out.Append(expr)
		if grown != nil {
			out.Append(boundedExpr(expr.Location, grown))
		}
	}
	for _, expr := range body {
		s.closures(expr, bound)
		if none := s.positive(expr, bound); none != nil {
			emit(none)
		}
		for _, check := range s.boundParts(expr, bound) {
			emit(check)
		}
		if !expr.Negated { // its variables are bound: nothing iterates
			for _, part := range append(s.split(expr), s.compare(expr, bound)...) {
				emit(part)
			}
		}
		emit(expr)
	}
	if parts := leaves(bound, heads...); len(parts) > 1 {
		emit(boundedExpr(body.Loc(), ast.ArrayTerm(parts...)))
	}
	return out
}

// compare turns an equality of two values into a call of equal.
func (s *splitter) compare(expr *ast.Expr, bound ast.VarSet) []*ast.Expr {
	if !expr.IsEquality() {
		return nil
	}
	left, right := expr.Operand(0), expr.Operand(1)
	if !isValueIn(left, bound) || !isValueIn(right, bound) {
		return s.isolate(expr) // one of them is a constant, or gets its value here
	}
	var before []*ast.Expr
	for _, operand := range []**ast.Term{&left, &right} {
		if _, isRef := (*operand).Value.(ast.Ref); isRef {
			local, bind := s.bind(expr, *operand)
			before, *operand = append(before, bind), local
		}
	}
	expr.Terms = []*ast.Term{ast.NewTerm(ast.Equal.Ref()), left, right}
	return before
}

// isolate binds what OPA puts together before a pattern takes it apart, so that it is
// checked as a whole: a part of it may be put together, too.
func (s *splitter) isolate(expr *ast.Expr) []*ast.Expr {
	var before []*ast.Expr
	for i := range 2 {
		_, isVar := expr.Operand(1 - i).Value.(ast.Var)
		if operand := expr.Operand(i); !isVar && s.grows(operand) {
			local, bind := s.bind(expr, operand)
			before = append(before, bind)
			expr.Terms.([]*ast.Term)[i+1] = local
		}
	}
	return before
}

// positive makes `not a == b` of two values into `x = [true | a == b]`, which it
// returns, and `x = []`, so that the equality is split like any other.
func (s *splitter) positive(expr *ast.Expr, bound ast.VarSet) *ast.Expr {
	if !expr.Negated || !expr.IsEquality() || !isValueIn(expr.Operand(0), bound) || !isValueIn(expr.Operand(1), bound) {
		return nil
	}
	equality := expr.Copy()
	equality.Negated = false
	found := ast.ArrayComprehensionTerm(ast.InternedTerm(true), s.body(ast.NewBody(equality), bound))
	local, bind := s.bind(&ast.Expr{Location: expr.Location}, found.SetLocation(expr.Location))
	expr.Negated, expr.With = false, nil
	expr.Terms = []*ast.Term{ast.NewTerm(ast.Equality.Ref()), local, ast.ArrayTerm()}
	return bind
}

// isValueIn says whether a term has a value of any size once it is evaluated.
func isValueIn(term *ast.Term, bound ast.VarSet) bool {
	switch value := term.Value.(type) {
	case ast.Var:
		return bound.Contains(value)
	case ast.Ref:
		return true
	}
	return false
}

// closures splits what comprehensions and every hold.
func (s *splitter) closures(expr *ast.Expr, bound ast.VarSet) {
	ast.WalkClosures(expr, func(closure any) bool {
		switch closure := closure.(type) {
		case *ast.ArrayComprehension:
			closure.Body = s.body(closure.Body, bound, closure.Term)
		case *ast.SetComprehension:
			closure.Body = s.body(closure.Body, bound, closure.Term)
		case *ast.ObjectComprehension:
			closure.Body = s.body(closure.Body, bound, closure.Key, closure.Value)
		case *ast.Every:
			inner := bound.Copy()
			inner.Update(closure.KeyValueVars())
			closure.Body = s.body(closure.Body, inner)
		}
		return true // body has been within already
	})
}

// split returns the expressions that go before expr, which is changed to use them.
func (s *splitter) split(expr *ast.Expr) []*ast.Expr {
	var before []*ast.Expr
	switch terms := expr.Terms.(type) {
	case *ast.Term:
		before, expr.Terms = s.single(expr, terms)
	case []*ast.Term:
		last := 0
		for i := 1; i < len(terms); i++ {
			if iterates(terms[i]) {
				last = i
			}
		}
		// The last collection may stay where it is. The others go before it in their
		// order, which is the order of what comprehensions collect.
		for i := 1; i <= last; i++ {
			if !iterates(terms[i]) {
				continue
			}
			var parts []*ast.Expr
			parts, terms[i] = s.single(expr, terms[i])
			before = append(before, parts...)
			if i < last {
				local, bind := s.bind(expr, terms[i])
				before, terms[i] = append(before, bind), local
			}
		}
	}
	return before
}

// single leaves at most one iteration in a reference: a[i][j] becomes x = a[i] and
// x[j].
func (s *splitter) single(expr *ast.Expr, term *ast.Term) ([]*ast.Expr, *ast.Term) {
	var before []*ast.Expr
	for {
		at := s.secondIteration(term)
		if at == 0 {
			return before, term
		}
		ref := term.Value.(ast.Ref)
		local, bind := s.bind(expr, ast.NewTerm(ref[:at].Copy()).SetLocation(term.Location))
		before = append(before, bind)
		term = ast.NewTerm(append(ast.Ref{local}, ref[at:]...)).SetLocation(term.Location)
	}
}

// secondIteration is the index of the second element of a reference that may be a
// variable to iterate by: 0 if there is none, or if rules of several keys stand
// there, which OPA evaluates key by key.
func (s *splitter) secondIteration(term *ast.Term) int {
	ref, ok := term.Value.(ast.Ref)
	if !ok {
		return 0
	}
	seen := 0
	for i := 1; i < len(ref); i++ {
		if _, isVar := ref[i].Value.(ast.Var); !isVar {
			continue
		}
		if seen++; seen == 1 {
			if !s.isValue(ref[:i]) {
				return 0
			}
			continue
		}
		return i
	}
	return 0
}

// isValue says whether what a ground reference names is one value, and not a rule
// whose keys are computed one by one.
func (s *splitter) isValue(ref ast.Ref) bool {
	if !ref.HasPrefix(ast.DefaultRootRef) {
		return true
	}
	if len(s.compiler.GetRulesExact(ref)) == 0 {
		return len(s.compiler.GetRulesWithPrefix(ref)) == 0
	}
	for _, rule := range s.compiler.GetRulesExact(ref) {
		if rule.Head.RuleKind() != ast.SingleValue || len(rule.Ref()) != len(ref) {
			return false
		}
	}
	return true
}

// bind makes `local = term`, under the same with as the expression.
func (s *splitter) bind(expr *ast.Expr, term *ast.Term) (*ast.Term, *ast.Expr) {
	// The prefix marks the variable as generated for OPA.
	local := ast.VarTerm(fmt.Sprintf("__local_lintel%d__", s.next)).SetLocation(term.Location)
	s.next++
	bind := ast.Equality.Expr(local, term).SetLocation(expr.Location)
	bind.Generated = true
	for _, with := range expr.With {
		bind.With = append(bind.With, with.Copy())
	}
	return local, bind
}

// iterates says whether a term is a reference with a variable in it.
func iterates(term *ast.Term) bool {
	ref, ok := term.Value.(ast.Ref)
	if !ok {
		return false
	}
	for _, element := range ref[1:] {
		if _, isVar := element.Value.(ast.Var); isVar {
			return true
		}
	}
	return false
}
