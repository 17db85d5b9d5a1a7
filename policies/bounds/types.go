package bounds

import (
	"slices"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/lintel-policy/lintel/policies/sandbox"
)

// OPA's type checker compares, prints and searches the types of values as trees, although they
// share their parts: of sixty rules `l1 := {"a": l0, "b": l0}`, `l2 := {"a": l1, "b": l1}`, …
// the last has a type of 2^60 nodes. So an earlier stage infers the same types as graphs with
// shared parts, and reports the rules whose types are too large as trees.

// maxTypeNodes is how large the type of a rule or a variable may be as a tree: as large
// as values may be.
const maxTypeNodes = sandbox.MaxMadeNodes

// maxTypeSteps is how many steps it may take to compare such a type with one like it.
const maxTypeSteps = 1_000_000

func (b Limits) typesStage(work *Work) (ast.StageID, ast.CompilerStageDefinition) {
	return stage(ast.StageCheckRecursion, "types", func(c *ast.Compiler, first *errorInText) {
		sorted, _ := c.Graph.Sort() // recursion was refused by the stage before
		types := &ruleTypes{Limits: b, compiler: c, shapes: map[string]*shape{}, rules: map[*ast.Rule]*shape{}, documents: map[string]*shape{}, faulty: map[string]bool{}}
		for _, node := range sorted {
			switch rule := node.(*ast.Rule); types.infer(rule) {
			case tooLarge:
				first.add(rule, "expanding rule %s takes more than %d values: what holds another value twice is twice as large; take the parts apart", maxTypeNodes)
			case tooManifold:
				first.add(rule, "comparing what rule %s may give takes more than %d steps: alternatives within alternatives multiply; take them apart", maxTypeSteps)
			case tooMany:
				first.add(rule, "comparing the types of references up to rule %s, takes more than %d steps: each reference to many alternatives costs the square of their number; refer to them in one rule", b.TypeSteps)
			}
			if types.steps > b.TypeSteps {
				break // the rest would take as long
			}
		}
		work.TypeSteps = types.steps
	})
}

// ruleTypes are the types of rules: those that OPA infers, or larger ones.
type ruleTypes struct {
	Limits
	compiler *ast.Compiler
	shapes   map[string]*shape // by their parts
	rules    map[*ast.Rule]*shape
	// documents are the types of the documents that constant references name, and faulty those
	// with a rule that has a fault.
	documents map[string]*shape
	faulty    map[string]bool
	steps     int // of all references so far
}

// fault is the reason why the types of a rule exceed the limits.
type fault int

const (
	noFault fault = iota
	tooLarge
	tooManifold
	tooMany
)

// infer infers the type of a rule whose dependencies have theirs. A fault that the rule inherits
// from a dependency is not a fault of the rule.
func (t *ruleTypes) infer(rule *ast.Rule) fault {
	b := &typedBody{ruleTypes: t, variables: map[ast.Var]*shape{}}
	b.body(rule.Body)
	b.closures(rule.Head)
	found := b.of(rule.Head.Value)
	if rule.Head.RuleKind() == ast.MultiValue {
		found = t.shape(shapeSet, nil, b.of(rule.Head.Key))
	}
	for _, element := range slices.Backward(rule.Ref()) {
		if !ast.IsConstant(element.Value) && !ast.RootDocumentNames.Contains(element) {
			found = t.shape(shapeObject, nil, b.of(element), found)
		}
	}
	t.rules[rule] = found
	b.note(found)
	t.steps += found.nodes // OPA searches it for empty collections
	switch {
	case t.steps > t.TypeSteps:
		return tooMany
	case b.inherits || standsForAnother(rule):
		return noFault
	}
	return b.fault
}

func (s *shape) fault() fault {
	switch {
	case s.nodes > maxTypeNodes:
		return tooLarge
	case s.steps > maxTypeSteps:
		return tooManifold
	default:
		return noFault
	}
}

// document returns the type of the document that a constant reference below data names.
func (t *ruleTypes) document(name ast.Ref) *shape {
	key := name.String()
	if known := t.documents[key]; known != nil {
		return known
	}
	var found, below []*shape
	var keys []string
	for _, rule := range t.compiler.GetRules(name) {
		path := rule.Ref().GroundPrefix()
		for branch := rule; branch != nil; branch = branch.Else {
			whole := t.rules[branch]
			t.faulty[key] = t.faulty[key] || whole != nil && whole.fault() != noFault
			switch {
			case whole == nil: // it depends on who asks: that is refused elsewhere
			case len(path) > len(name):
				keys, below = append(keys, path[len(name):].String()), append(below, whole)
			default:
				for _, element := range name[len(path):] {
					whole = t.part(whole, element)
				}
				found = append(found, whole)
			}
		}
	}
	if len(below) > 0 {
		found = append(found, t.shape(shapeObject, keys, below...))
	}
	t.documents[key] = t.union(found)
	return t.documents[key]
}

// typedBody infers the types of the variables of a rule.
type typedBody struct {
	*ruleTypes
	variables map[ast.Var]*shape
	// replaced are the types of the values with which an expression replaces documents.
	replaced []*shape
	fault    fault // of the first term that has one
	// inherits reports that a dependency has a fault.
	inherits bool
}

// body infers the types of the variables of a body.
func (b *typedBody) body(body ast.Body) {
	for _, expr := range body {
		b.closures(expr)
		b.expr(expr)
	}
}

// closures infers the types in the comprehensions and every expressions of a node.
func (b *typedBody) closures(node any) {
	ast.WalkClosures(node, func(closure any) bool {
		if every, ok := closure.(*ast.Every); ok {
			b.closures(every.Domain)
			domain := b.of(every.Domain)
			b.give(every.Key, b.keysOf(domain))
			b.give(every.Value, b.values(domain))
		}
		body, _, _ := partsOf(closure)
		b.body(body)
		return true // the body has been within already
	})
}

func (b *typedBody) expr(expr *ast.Expr) {
	var replaced []*shape
	for _, with := range expr.With {
		replaced = append(replaced, b.of(with.Value))
	}
	b.replaced = replaced
	switch terms := expr.Terms.(type) {
	case *ast.Term:
		b.of(terms)
	case []*ast.Term:
		b.call(terms[0], terms[1:])
	}
	b.replaced = nil
}

// call infers the types of the variables in its operands.
func (b *typedBody) call(operator *ast.Term, operands []*ast.Term) {
	var found []*shape
	for _, operand := range operands {
		found = append(found, b.of(operand))
	}
	name, _ := operator.Value.(ast.Ref)
	switch name.String() {
	case ast.Equality.Name, ast.Assign.Name:
		b.give(operands[0], found[1])
		b.give(operands[1], found[0])
	case ast.Member.Name:
		b.give(operands[0], b.values(found[1]))
	case ast.MemberWithKey.Name:
		b.give(operands[0], b.keysOf(found[2]))
		b.give(operands[1], b.values(found[2]))
	}
	result := b.shape(shapeAny, nil)
	if name.HasPrefix(ast.DefaultRootRef) {
		result = b.of(operator)
	}
	for _, operand := range operands {
		b.give(operand, result)
	}
}

// give gives the variables in a pattern that have no type yet that of the whole, or of
// its parts.
func (b *typedBody) give(pattern *ast.Term, whole *shape) {
	if pattern == nil {
		return
	}
	switch value := pattern.Value.(type) {
	case ast.Var:
		if b.variables[value] == nil {
			b.variables[value] = whole
		}
	case *ast.Array:
		for i := range value.Len() {
			b.give(value.Elem(i), b.part(whole, ast.InternedTerm(i)))
		}
	case ast.Object:
		value.Foreach(func(key, element *ast.Term) {
			b.give(key, b.keysOf(whole))
			b.give(element, b.part(whole, key))
		})
	case ast.Set:
		value.Foreach(func(element *ast.Term) { b.give(element, b.values(whole)) })
	}
}

// of is the type of a term.
func (b *typedBody) of(term *ast.Term) *shape {
	found := b.inferTerm(term)
	b.note(found)
	return found
}

func (b *typedBody) note(found *shape) {
	if b.fault == noFault {
		b.fault = found.fault()
	}
}

func (b *typedBody) inferTerm(term *ast.Term) *shape {
	if term == nil {
		return b.shape(shapeAny, nil)
	}
	switch value := term.Value.(type) {
	case ast.Null, ast.Boolean, ast.Number, ast.String:
		return b.shape(ast.ValueName(value), nil)
	case ast.Var:
		if known := b.variables[value]; known != nil {
			return known
		}
	case ast.Ref:
		return b.reference(value)
	case *ast.Array:
		var parts []*shape
		value.Foreach(func(element *ast.Term) { parts = append(parts, b.of(element)) })
		return b.shape(shapeArray, nil, parts...)
	case ast.Set:
		var parts []*shape
		value.Foreach(func(element *ast.Term) { parts = append(parts, b.of(element)) })
		return b.shape(shapeSet, nil, b.union(parts))
	case ast.Object:
		return b.object(value)
	case *ast.ArrayComprehension:
		return b.shape(shapeList, nil, b.of(value.Term))
	case *ast.SetComprehension:
		return b.shape(shapeSet, nil, b.of(value.Term))
	case *ast.ObjectComprehension:
		return b.shape(shapeObject, nil, b.of(value.Key), b.of(value.Value))
	}
	return b.shape(shapeAny, nil)
}

func (b *typedBody) object(object ast.Object) *shape {
	var keys []string
	var parts, dynamic []*shape
	object.Foreach(func(key, element *ast.Term) {
		if ast.IsConstant(key.Value) {
			keys, parts = append(keys, key.String()), append(parts, b.of(element))
		} else {
			dynamic = append(dynamic, b.of(key), b.of(element))
		}
	})
	return b.shape(shapeObject, keys, append(parts, dynamic...)...)
}

// reference returns the type of the value that a reference names. Variables in it without a type
// get the type of the keys.
func (b *typedBody) reference(ref ast.Ref) *shape {
	var found *shape
	name := ref[:1]
	if ref[0].Equal(ast.DefaultRootDocument) {
		name = ref.ConstantPrefix()
		found = b.document(name)
		b.inherits = b.inherits || b.faulty[name.String()]
	} else {
		found = b.of(ref[0])
	}
	if ast.RootDocumentNames.Contains(ref[0]) && len(b.replaced) > 0 {
		found = b.union(slices.Concat(b.replaced, []*shape{found}))
	}
	for _, element := range ref[len(name):] {
		b.give(element, b.keysOf(found))
		found = b.part(found, element)
		if b.steps += found.steps; b.steps > b.TypeSteps {
			return b.shape(shapeAny, nil) // enough is known
		}
	}
	return found
}
