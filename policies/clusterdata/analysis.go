package clusterdata

import (
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/lintel-policy/lintel/policies/definition"
)

// FieldsRead finds the fields of cluster objects that compiled rules can read, by their key in
// data.cluster, "" for any kind. A reference reads the value at its end, unless it assigns that
// value to a variable that only appears at the beginning of other references: then those
// determine the fields. Any other use of a value reads all of it.
func FieldsRead(modules []*ast.Module) map[string]*Fields {
	kinds := fieldsByKind{}
	found := finder{ast.DefaultRootDocument, kinds.add}
	for _, module := range modules {
		for _, rule := range module.Rules {
			found.rule(rule)
		}
	}
	return kinds
}

// InputRead finds the parts of the input that compiled rules can read, as FieldsRead does.
func InputRead(rules map[*ast.Rule]bool) *Fields {
	input := &Fields{}
	found := finder{ast.InputRootDocument, func(path ast.Ref, whole bool) {
		fields, all := steps(path[1:])
		input = input.add(fields, whole || all)
	}}
	for rule := range rules {
		found.rule(rule)
	}
	return input
}

// finder calls read with the references of rules to a root document, and whether they read the
// value at their end.
type finder struct {
	root *ast.Term
	read func(path ast.Ref, whole bool)
}

// fieldsByKind are the fields of cluster objects by their key in data.cluster.
type fieldsByKind map[string]*Fields

// rule analyses one rule, whose variables are its own.
func (f finder) rule(rule *ast.Rule) {
	if !mentions(rule, f.root) {
		return
	}
	v := variables{root: f.root, defined: map[ast.Var][]ast.Ref{}, escaped: map[ast.Var]bool{}}
	ast.WalkExprs(rule, func(expr *ast.Expr) bool {
		if variable, ref := assignment(expr); ref != nil {
			v.defined[variable] = append(v.defined[variable], ref)
		}
		return false
	})
	v.escape(rule)
	walkValues(rule, func(ref ast.Ref, variable ast.Var) {
		if path := v.path(ref, 0); path != nil {
			f.read(path, variable == "" || !v.follows(variable))
		}
	}, func(ast.Var) {})
}

func mentions(rule *ast.Rule, root *ast.Term) bool {
	found := false
	ast.WalkRefs(rule, func(ref ast.Ref) bool {
		found = found || ref[0].Equal(root)
		return found
	})
	return found
}

// add notes a path below data: cluster, kind, namespace, name, and then fields.
func (f fieldsByKind) add(path ast.Ref, whole bool) {
	const kindAt, fieldsAt = 2, 5
	if len(path) > 1 {
		if first, ok := path[1].Value.(ast.String); ok && first != definition.ClusterKey {
			return
		}
	}
	kind := ""
	if len(path) > kindAt {
		if key, ok := path[kindAt].Value.(ast.String); ok {
			kind = string(key)
		}
	}
	fields, all := steps(path[min(len(path), fieldsAt):])
	whole = whole || all
	before := f[kind]
	if before == nil {
		before = &Fields{}
	}
	f[kind] = before.add(fields, whole)
}

// steps are the names of fields, "" for any element. all reports that the path ends before its last
// step: a field is named "".
func steps(path ast.Ref) (fields []string, all bool) {
	for _, step := range path {
		name, isText := step.Value.(ast.String)
		if isText && name == "" {
			return fields, true
		}
		fields = append(fields, strings.Clone(string(name)))
	}
	return fields, false
}

// variables are the variables of a rule that refer to a root document.
type variables struct {
	root    *ast.Term
	defined map[ast.Var][]ast.Ref // the references assigned to it
	escaped map[ast.Var]bool      // appears where its value as a whole matters
}

// assignment reads `variable = reference`, in either order: nil for other expressions.
func assignment(expr *ast.Expr) (ast.Var, ast.Ref) {
	if !expr.IsEquality() || expr.Negated {
		return "", nil
	}
	for i := range 2 {
		variable, isVar := expr.Operand(i).Value.(ast.Var)
		if ref, isRef := expr.Operand(1 - i).Value.(ast.Ref); isVar && isRef {
			return variable, ref
		}
	}
	return "", nil
}

// escape finds variables used other than in their definition and at the beginning of references.
func (v *variables) escape(rule *ast.Rule) {
	escape := func(variable ast.Var) { v.escaped[variable] = true }
	walkValues(rule, func(ast.Ref, ast.Var) {}, escape)
	for branch := rule; branch != nil; branch = branch.Else {
		for _, step := range branch.Head.Reference {
			walkValues(step, func(ast.Ref, ast.Var) {}, escape)
		}
	}
}

// walkValues calls ref with every reference, and the variable that it defines, and
// variable with every variable that neither is defined nor begins a reference.
func walkValues(node any, ref func(ast.Ref, ast.Var), variable func(ast.Var)) {
	var visitor *ast.GenericVisitor
	steps := func(path ast.Ref) {
		for _, step := range path[1:] {
			visitor.Walk(step)
		}
	}
	visitor = ast.NewGenericVisitor(func(node any) bool {
		switch node := node.(type) {
		case *ast.Expr:
			defined, path := assignment(node)
			if path == nil {
				return false
			}
			ref(path, defined)
			steps(path)
			for _, with := range node.With {
				visitor.Walk(with)
			}
			return true
		case ast.Ref:
			ref(node, "")
			steps(node)
			return true
		case ast.Var:
			variable(node)
		}
		return false
	})
	visitor.Walk(node)
}

// follows reports whether the references that begin with a variable determine everything that is
// read through it.
func (v *variables) follows(variable ast.Var) bool {
	return len(v.defined[variable]) == 1 && !v.escaped[variable]
}

// path returns the reference from the root on: nil if it is not below it. The length is bounded by
// the maximum length of a rule.
func (v *variables) path(ref ast.Ref, depth int) ast.Ref {
	if ref[0].Equal(v.root) {
		return ref
	}
	variable, ok := ref[0].Value.(ast.Var)
	if !ok || !v.follows(variable) || depth > 100 {
		return nil
	}
	before := v.path(v.defined[variable][0], depth+1)
	if before == nil {
		return nil
	}
	return before.Concat(ref[1:])
}
