package restriction

import (
	"context"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/lintel-policy/lintel/policies/openclaw/sidecar"
)

// maxSteps limits the work of a translation, and thus its size.
const maxSteps = 100_000

// translation turns the rules of one policy, as OPA has compiled them, into formulas.
type translation struct {
	ctx    context.Context
	policy *sidecar.Policy
	steps  *int
	// errors are the conditions under which the evaluation may end with an error. They are
	// collected only for a policy that must have a value.
	errors     []formula
	wantErrors bool
	iterations int // the number of iterations over values so far
	// negations counts the negations around the current expression. There, a release of OPA may
	// miss a conflict: see negations.go.
	negations int
	// firstUnsupported is the first unsupported construct.
	firstUnsupported *unsupported

	writer *writer

	supported map[*ast.Rule]bool
	fresh     *int
}

// unsupported stops a translation at a construct.
type unsupported struct {
	what     string
	location *ast.Location
}

func newTranslation(ctx context.Context, p *sidecar.Policy, steps, fresh *int) *translation {
	return &translation{ctx: ctx, policy: p, steps: steps, fresh: fresh, writer: &writer{prefix: "element"}, supported: map[*ast.Rule]bool{}}
}

func (t *translation) step() {
	*t.steps++
	if *t.steps > maxSteps {
		panic(tooLarge)
	}
	if *t.steps%256 == 0 && t.ctx.Err() != nil {
		panic(outOfTime)
	}
}

// environment binds variables to terms.
type environment struct {
	outer *environment
	name  ast.Var
	value term
}

func (e *environment) with(name ast.Var, value term) *environment {
	return &environment{e, name, value}
}

func (e *environment) lookup(name ast.Var) (term, bool) {
	for ; e != nil; e = e.outer {
		if e.name == name {
			return e.value, true
		}
	}
	return nil, false
}

type (
	withValue           func(term) formula
	withBinding         func(*environment) formula
	withValueAndBinding func(term, *environment) formula
)

func always(*environment) formula { return true }

func anyValue(term) formula { return true }

// attempt returns the construct that stopped f, and discards the errors that f recorded.
func (t *translation) attempt(f func() formula) (result formula, failure *unsupported) {
	errors := len(t.errors)
	defer func() {
		if r := recover(); r != nil {
			u, ok := r.(unsupported)
			if !ok {
				panic(r)
			}
			t.errors = t.errors[:errors]
			result, failure = nil, &u
		}
	}()
	return f(), nil
}

// collectErrors runs f and returns the errors that it recorded. f records errors only if
// record is true.
func (t *translation) collectErrors(record bool, f func()) []formula {
	outer, before := t.errors, t.wantErrors
	defer func() { t.errors, t.wantErrors = outer, before }()
	t.errors, t.wantErrors = nil, record
	f()
	return t.errors
}

func (t *translation) note(u *unsupported) {
	if t.firstUnsupported == nil {
		t.firstUnsupported = u
	}
}

// mayFail is the formula that evaluating the construct with a text does not end with an error,
// if the condition of the error is unknown. It records the error.
func (t *translation) mayFail(text string) formula {
	failed := atom{kind: isOpaque, left: opaque{"error of " + text}}
	if t.wantErrors {
		t.errors = append(t.errors, failed)
	}
	return not(failed)
}

// reading describes how a reference reads the value of a rule: completely if text is "",
// otherwise a part. at is the first key of the path if it is known.
type reading struct {
	text string
	at   term
}

// whole reads a complete value.
var whole = reading{}

// variables are all variables of an expression that can be bound.
func variables(node any) ast.VarSet {
	visitor := ast.NewVarVisitor().WithParams(ast.VarVisitorParams{
		SkipRefCallHead: true, SkipClosures: true,
	})
	visitor.Walk(node)
	names := visitor.Vars()
	for name := range names {
		if name == ast.InputRootDocument.Value || name == ast.DefaultRootDocument.Value {
			delete(names, name)
		}
	}
	return names
}

// chainsOf separates rules of one name, with their else branches, from their default rule,
// which may be nil.
func chainsOf(rules []*ast.Rule) (chains []*ast.Rule, fallback *ast.Rule) {
	for _, rule := range rules {
		if rule.Default {
			fallback = rule
		} else {
			chains = append(chains, rule)
		}
	}
	return chains, fallback
}

// sameConstant reports whether all rules and their else branches have one constant value.
func sameConstant(chains []*ast.Rule) bool {
	var first ast.Value
	for _, rule := range chains {
		for ; rule != nil; rule = rule.Else {
			value, ok := constantOf(rule.Head.Value)
			if !ok {
				return false
			}
			if first == nil {
				first = value.value
			}
			if ast.Compare(first, value.value) != 0 {
				return false
			}
		}
	}
	return true
}

// constantOf converts a term of Rego without variables, references and calls.
func constantOf(t *ast.Term) (constant, bool) {
	plain := true
	ast.WalkTerms(t, func(part *ast.Term) bool {
		switch part.Value.(type) {
		case ast.Var, ast.Ref, ast.Call, *ast.ArrayComprehension, *ast.SetComprehension, *ast.ObjectComprehension, *ast.TemplateString:
			plain = false
		}
		return !plain
	})
	return constantTerm(t.Value), plain
}
