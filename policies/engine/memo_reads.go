package engine

import (
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
)

// readFinder derives which parts of the input decide the verdict of a policy. It goes
// from what is wanted of the entry point backwards: whoever uses a value says what it
// wants of it, and that is passed on to where the value comes from, through variables,
// the arguments and results of functions, and rules, until nothing new is wanted. Every
// expression that may be evaluated has its part in the verdict, if only by being
// undefined. What it does not understand wants the whole input.
type readFinder struct {
	set       *PolicySet
	policy    *policy
	operation string // of the requests it is about: "" is any
	// mocked says that a with changes what rules see, so that nothing is constant.
	mocked bool

	documents *documents
	vars      map[local]*demand
	constants map[local]*constants
	wanted    map[string]*demand         // of documents
	calls     map[string]map[string]bool // the contexts of functions
	reached   []string                   // the keys of wanted, in the order of their finding
	input     *demand
	effort    *effort
	aliases   map[*ast.Rule]map[ast.Var]ast.Ref
	asked     bool   // asks for the operation
	data      bool   // reads objects of the cluster
	reason    string // why nothing can be said: "" where something can
	changed   bool
}

// frame is a rule, and of a function the constants that it is called with: what it reads
// is told apart by them.
type frame struct {
	rule    *ast.Rule
	context string
}

// local is a variable of a rule.
type local struct {
	frame frame
	name  ast.Var
}

// Limits of an analysis, which no policy of this world comes near.
const (
	maxReadPasses = 100
	maxReadSize   = 5000
	maxEffort     = 200_000 // some 20 ms
)

func newReadFinder(p *policy, operation string) *readFinder {
	return &readFinder{
		set: p.set, policy: p, operation: operation, documents: p.set.rulesByDocument(),
		effort: &effort{maxEffort}, aliases: map[*ast.Rule]map[ast.Var]ast.Ref{},
	}
}

// find derives what the policy reads of requests with the operation.
func (f *readFinder) find() {
	for {
		f.vars, f.constants = map[local]*demand{}, map[local]*constants{}
		f.wanted, f.reached = map[string]*demand{}, nil
		f.calls = map[string]map[string]bool{}
		f.input = &demand{}
		mocked := f.mocked
		f.derive()
		if mocked == f.mocked {
			return
		}
	}
}

func (f *readFinder) derive() {
	set := &demand{each: &demand{each: &demand{result: true}}} // of [value, id of the rule]
	for _, entry := range []string{entryDeny, entryWarn, entryViolation} {
		path := f.policy.path.Append(ast.StringTerm(twinPrefix + entry)).String()
		if f.documents.rules[path] != nil {
			f.want(path, set)
		}
	}
	for pass := 0; f.changed && f.reason == ""; pass++ {
		f.changed = false
		for i := 0; i < len(f.reached); i++ { // which grows
			f.document(f.reached[i])
		}
		if pass > maxReadPasses || f.effort.left < 0 || f.input.size() > maxReadSize {
			f.reason = "it is too complex"
		}
	}
}

func (f *readFinder) give(up string) {
	if f.reason == "" {
		f.reason = up
	}
}

// want passes a demand on to the rules of a document.
func (f *readFinder) want(path string, d *demand) {
	if f.wanted[path] == nil {
		f.wanted[path], f.changed = &demand{}, true
		f.reached = append(f.reached, path)
	}
	f.into(f.wanted[path], d)
}

func (f *readFinder) into(held, d *demand) {
	if held.add(d, 0, f.effort) {
		f.changed = true
	}
}

func (f *readFinder) variable(of frame, name ast.Var) *demand {
	key := local{of, name}
	if f.vars[key] == nil {
		f.vars[key] = &demand{}
	}
	return f.vars[key]
}

// document looks at the rules of a document.
func (f *readFinder) document(wanted string) {
	f.effort.spend(10)
	d := f.wanted[wanted]
	path, context, _ := strings.Cut(wanted, contextMark)
	var holding []*ast.Rule // the branches that may hold
	rules, several := 0, false
	for _, rule := range f.documents.rules[path] {
		holds := false
		for branch := rule; branch != nil; branch = branch.Else {
			s := f.scope(frame{branch, context})
			for _, argument := range branch.Head.Args {
				s.bound.Update(argument.Vars())
			}
			if s.body(branch.Body) {
				holding, holds = append(holding, branch), true
				several = several || s.iterates
			}
		}
		if holds && !rule.Default {
			rules++
		}
	}
	several = several || rules > 1
	for _, branch := range holding {
		f.head(branch, path, context, d, several)
	}
}

// head wants of what a rule gives what is wanted of its document. Where several values
// may be given, if only for one key, that they are equal is a condition.
func (f *readFinder) head(rule *ast.Rule, path, context string, d *demand, several bool) {
	s := f.scope(frame{rule, context})
	ref := rule.Ref()
	keys := ref[len(constantPrefix(ref)):]
	for _, key := range keys {
		s.use(key, wholeDemand())
		d = d.anyMember(f.effort)
	}
	switch {
	case rule.Head.RuleKind() == ast.MultiValue:
		s.use(rule.Head.Key, d.element(f.effort))
	case isTwin(path), several:
		s.use(rule.Head.Value, wholeDemand())
	default:
		s.use(rule.Head.Value, d)
	}
}

// isTwin says that a document is the twin of a complete rule, whose value may be one
// that says nothing.
func isTwin(path string) bool {
	return slices.ContainsFunc([]string{entryDeny, entryWarn, entryViolation}, func(entry string) bool {
		return strings.Contains(path, twinPrefix+entry+"_")
	})
}

// readScope is a body within a rule.
type readScope struct {
	*readFinder
	frame
	bound    ast.VarSet
	ordered  bool             // the order of the solutions, and their number, is part of a value
	iterates bool             // there may be several solutions
	told     map[ast.Var]bool // variables of this expression that have known constants
}

func (f *readFinder) scope(of frame) *readScope {
	return &readScope{readFinder: f, frame: of, bound: ast.NewVarSet()}
}

func (s *readScope) within(ordered bool) *readScope {
	s.effort.spend(1 + len(s.bound)/4)
	return &readScope{readFinder: s.readFinder, frame: s.frame, bound: s.bound.Copy(), ordered: ordered}
}

// body goes through the expressions in the order of their evaluation. It is false where
// one of them can never hold: those behind it are not evaluated. But OPA may use them to
// pass over the whole rule, and an expression that fails with it.
func (s *readScope) body(body ast.Body) bool {
	possible, fails := true, false
	for _, expr := range body {
		s.told = map[ast.Var]bool{}
		possible = s.expr(expr) && possible
		fails = fails || s.mayFail(expr)
		if !possible && !fails {
			return false
		}
		vars := expr.Vars(ast.VarVisitorParams{SkipClosures: true, SkipRefCallHead: true})
		s.forget(vars)
		if !expr.Negated {
			s.bound.Update(vars)
		}
	}
	return possible
}

// mayFail says whether an expression calls anything but what compares, or has rules that
// might.
func (s *readScope) mayFail(expr *ast.Expr) bool {
	fails := false
	ast.NewGenericVisitor(func(node any) bool {
		switch node := node.(type) {
		case *ast.Expr:
			fails = fails || node.IsCall() && !harmless[node.Operator().String()]
		case ast.Ref:
			fails = fails || node[0].Equal(ast.DefaultRootDocument)
		}
		return fails
	}).Walk(expr.Terms)
	return fails || expr.IsCall() && !harmless[expr.Operator().String()]
}

// harmless are functions that fail for no operands, but for limits.
var harmless = map[string]bool{
	ast.Equality.Name: true, ast.Equal.Name: true, ast.NotEqual.Name: true, ast.Member.Name: true,
	ast.GreaterThan.Name: true, ast.GreaterThanEq.Name: true, ast.LessThan.Name: true, ast.LessThanEq.Name: true,
}

// forget notes that variables without known constants may have any value.
func (s *readScope) forget(vars ast.VarSet) {
	for name := range vars {
		if !s.bound.Contains(name) && !s.told[name] {
			s.know(s.frame, name, unknownConstants)
		}
	}
}

func (s *readScope) expr(expr *ast.Expr) (possible bool) {
	s.effort.spend(10)
	for _, with := range expr.With {
		s.with(with)
	}
	s.joins(expr)
	switch terms := expr.Terms.(type) {
	case *ast.SomeDecl:
		return true
	case *ast.Every:
		inner := s.within(false)
		d := &demand{each: &demand{}}
		if terms.Key != nil {
			d.keys = s.pattern(terms.Key, inner)
		}
		if terms.Value != nil {
			d.each = s.pattern(terms.Value, inner)
		}
		s.use(terms.Domain, d)
		inner.forget(terms.KeyValueVars())
		inner.bound.Update(terms.KeyValueVars())
		inner.body(terms.Body)
		return true
	case *ast.Term:
		s.use(terms, &demand{})
		return !s.neverHolds(expr)
	case []*ast.Term:
		return s.call(expr, terms[1:])
	}
	s.give("it has an expression of an unknown kind")
	return true
}

// with wants all of what takes the place of something. What is read under it counts as
// read of the input, too.
func (s *readScope) with(with *ast.With) {
	if !s.mocked {
		s.mocked, s.changed = true, true
	}
	target, ok := with.Target.Value.(ast.Ref)
	if !ok || !target.HasPrefix(ast.InputRootRef) && !target.HasPrefix(ast.DefaultRootRef) || s.isFunction(target) {
		s.give("it replaces a function")
		return
	}
	s.use(with.Value, wholeDemand())
}

func (s *readScope) isFunction(ref ast.Ref) bool {
	return slices.ContainsFunc(s.documents.rules[ref.String()], func(rule *ast.Rule) bool { return len(rule.Head.Args) > 0 })
}

// joins finds the variables that an expression binds in several places: their values
// are compared.
func (s *readScope) joins(expr *ast.Expr) {
	seen := map[ast.Var]int{}
	visitor := ast.NewGenericVisitor(func(node any) bool {
		switch node := node.(type) {
		case *ast.ArrayComprehension, *ast.SetComprehension, *ast.ObjectComprehension, *ast.Every:
			return true
		case ast.Var:
			seen[node]++
		}
		return false
	})
	visitor.Walk(expr)
	for name, times := range seen {
		if times > 1 && !s.bound.Contains(name) {
			s.into(s.variable(s.frame, name), wholeDemand())
		}
	}
}

// use passes on what is wanted of a term.
func (s *readScope) use(term *ast.Term, d *demand) {
	switch value := term.Value.(type) {
	case ast.String, ast.Number, ast.Boolean, ast.Null:
	case ast.Var:
		if value.Equal(ast.InputRootDocument.Value) || value.Equal(ast.DefaultRootDocument.Value) {
			s.ref(ast.Ref{term}, d)
			return
		}
		s.into(s.variable(s.frame, value), d)
	case ast.Ref:
		s.ref(value, d)
	case *ast.Array:
		value.Foreach(func(element *ast.Term) { s.use(element, d.anyMember(s.effort)) })
	case ast.Object:
		value.Foreach(func(key, element *ast.Term) {
			name, ok := key.Value.(ast.String)
			if !ok {
				s.use(key, wholeDemand())
				s.use(element, d.anyMember(s.effort))
				return
			}
			s.use(element, d.member(string(name), s.effort))
		})
	case ast.Set:
		value.Foreach(func(element *ast.Term) { s.use(element, d.element(s.effort)) })
	case *ast.ArrayComprehension:
		s.comprehension(value.Body, true, func(inner *readScope) { inner.use(value.Term, d.anyMember(s.effort)) })
	case *ast.SetComprehension:
		s.comprehension(value.Body, false, func(inner *readScope) { inner.use(value.Term, d.element(s.effort)) })
	case *ast.ObjectComprehension:
		s.comprehension(value.Body, false, func(inner *readScope) {
			inner.use(value.Key, wholeDemand())
			inner.use(value.Value, wholeDemand()) // two for one key are an error
		})
	default:
		s.give("it has a term of an unknown kind")
	}
}

func (s *readScope) comprehension(body ast.Body, ordered bool, head func(*readScope)) {
	inner := s.within(ordered)
	if inner.body(body) {
		head(inner)
	}
}

// ref passes on what is wanted of what a reference leads to.
func (s *readScope) ref(ref ast.Ref, d *demand) {
	name, ok := ref[0].Value.(ast.Var)
	switch {
	case !ok:
		s.give("it has a reference of an unknown kind")
	case name.Equal(ast.InputRootDocument.Value):
		s.into(s.input, s.along(ref[1:], d).read())
	case name.Equal(ast.DefaultRootDocument.Value):
		s.below(ref, d)
	case s.lists(ref):
		s.along(ref[1:], d)
		s.into(s.variable(s.frame, name), wholeDemand())
	default:
		s.into(s.variable(s.frame, name), s.along(ref[1:], d))
	}
}

// lists says that what may be a set is listed here, in the order of its members and each
// only once: then all of them is part of the value.
func (s *readScope) lists(ref ast.Ref) bool {
	return s.ordered && !s.isInput(ref[0], 0) && slices.ContainsFunc(ref[1:], func(step *ast.Term) bool {
		name, ok := step.Value.(ast.Var)
		return ok && !s.bound.Contains(name)
	})
}

// along is what is wanted of a value where d is wanted of what a path in it leads to.
func (s *readScope) along(path ast.Ref, d *demand) *demand {
	for _, step := range slices.Backward(path) {
		d = s.step(step, d)
	}
	return d
}

func (s *readScope) step(step *ast.Term, d *demand) *demand {
	switch value := step.Value.(type) {
	case ast.String:
		return d.at(string(value))
	case ast.Number, ast.Boolean, ast.Null:
		return &demand{each: d, keys: wholeDemand()}
	case ast.Var:
		if !s.bound.Contains(value) {
			s.iterates = true
			return &demand{each: d, keys: s.variable(s.frame, value)}
		}
	}
	s.iterates = s.iterates || !isConstant(step.Value) && len(step.Vars().Diff(s.bound)) > 0 // a pattern
	s.use(step, wholeDemand())
	known := s.constantsOf(step)
	if known.unknown || !slices.ContainsFunc(known.values, isString) {
		return &demand{each: d, keys: wholeDemand()}
	}
	out := &demand{}
	for _, value := range known.values {
		if name, ok := value.(ast.String); ok {
			out.add(d.at(string(name)), 0, s.effort)
			continue
		}
		out.add(&demand{each: d, keys: wholeDemand()}, 0, s.effort)
	}
	return out
}

func isString(value ast.Value) bool {
	_, ok := value.(ast.String)
	return ok
}

// below passes on what is wanted of a reference below data: to the rules that it
// may lead to. Data files never change, and objects of the cluster have versions.
func (s *readScope) below(ref ast.Ref, d *demand) {
	s.data = s.data || readsCluster(ref)
	for _, step := range ref[1:] {
		if !ast.IsScalar(step.Value) {
			s.step(step, &demand{}) // for what it wants of the step
		}
	}
	s.documents.root.meeting(ref[1:], func(rules *documentNode, shared bool) {
		s.effort.spend(2)
		switch {
		case shared, s.lists(ref):
			s.want(rules.text, wholeDemand())
		case len(ref) >= len(rules.path):
			s.want(rules.text, s.along(ref[len(rules.path):], d))
		default:
			rest := d
			for _, key := range rules.path[len(ref):] {
				if name, ok := key.Value.(ast.String); ok {
					rest = rest.member(string(name), s.effort)
				} else {
					rest = rest.anyMember(s.effort)
				}
			}
			s.want(rules.text, rest)
		}
	})
}
