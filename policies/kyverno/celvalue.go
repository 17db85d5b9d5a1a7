package kyverno

import (
	"slices"
	"strings"

	"github.com/google/cel-go/common/ast"
)

// value is the term of an expression.
func (c *celRule) value(e ast.Expr) string {
	switch e.Kind() {
	case ast.LiteralKind:
		switch value := e.AsLiteral().Value().(type) {
		case string, bool, int64, float64, uint64:
			return literal(value)
		}
		if e.AsLiteral().Type().TypeName() == "null_type" {
			return "null"
		}
		return c.refuse("literal")
	case ast.IdentKind:
		return c.identifierTerm(e.AsIdent())
	case ast.SelectKind:
		return c.selection(e.AsSelect())
	case ast.ListKind:
		var parts []string
		for _, one := range e.AsList().Elements() {
			parts = append(parts, c.value(one))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case ast.MapKind:
		if e.AsMap().Size() == 0 {
			return "{}"
		}
		return c.refuse("map")
	case ast.CallKind:
		return c.callValue(e)
	}
	return c.refuse("expression")
}

func (c *celRule) callValue(e ast.Expr) string {
	call := e.AsCall()
	args := call.Args()
	switch name := call.FunctionName(); name {
	case "orValue":
		base, path, ok := c.optional(call.Target())
		if !ok {
			return c.refuse("orValue")
		}
		return "kyverno.optional(" + base + ", " + literal(path) + ", " + c.value(args[0]) + ")"
	case "_[_]":
		return "kyverno.at(" + c.value(args[0]) + ", " + c.value(args[1]) + ")"
	case "_?_:_":
		return c.choice(args)
	case "filter", "map":
		if len(args) != 2 || args[0].Kind() != ast.IdentKind {
			return c.refuse(name)
		}
		return c.selected(name, c.value(call.Target()), args)
	}
	if c.isCondition(e) {
		return c.choiceOf(c.holds(e), "true", c.fails(e), "false")
	}
	return c.call(call)
}

// selected translates list.filter(x, …) and list.map(x, …) to a function of the list, which is
// undefined if the list is.
func (c *celRule) selected(name, list string, args []ast.Expr) string {
	outer := slices.Clone(c.locals)
	local := c.local(args[0].AsIdent())
	defer func() { c.locals = outer }()
	lines := []string{"some " + local + " in kyverno.range(list)"}
	var head string
	var conditions []string
	if name == "filter" {
		lines = append(lines, c.holds(args[1])...)
		head = "[" + local + " |\n" + indent(lines) + "]"
	} else {
		lines = append(lines, "value := "+c.value(args[1]))
		head = "mapped"
		conditions = []string{"mapped := [value |\n" + indent(lines) + "]", "count(mapped) == count(list)"}
	}
	arguments, values := "list", list
	for _, each := range outer {
		if mentions(strings.Join(lines, "\n"), each) {
			arguments, values = arguments+", "+each, values+", "+each
		}
	}
	helper := c.module.helperName("selected")
	if len(conditions) == 0 {
		c.module.helpers = append(c.module.helpers, helper+"("+arguments+") := "+head+"\n")
	} else {
		c.module.helpers = append(c.module.helpers, body(helper+"("+arguments+") := "+head, conditions))
	}
	return helper + "(" + values + ")"
}

// choice translates condition ? a : b.
func (c *celRule) choice(args []ast.Expr) string {
	return c.choiceOf(c.holds(args[0]), c.value(args[1]), c.fails(args[0]), c.value(args[2]))
}

func (c *celRule) choiceOf(first []string, left string, second []string, right string) string {
	text := strings.Join(slices.Concat(first, second, []string{left, right}), "\n")
	var arguments []string
	for _, local := range c.locals {
		if mentions(text, local) {
			arguments = append(arguments, local)
		}
	}
	name := c.module.helperName("choice")
	head := name
	if len(arguments) > 0 {
		head += "(" + strings.Join(arguments, ", ") + ")"
	}
	c.module.helpers = append(c.module.helpers, body(head+" := "+left, first), body(head+" := "+right, second))
	return head
}

// optional is the base and the path of a.?b.?c.
func (c *celRule) optional(e ast.Expr) (base string, path []string, ok bool) {
	switch e.Kind() {
	case ast.SelectKind:
		base, path, ok = c.optional(e.AsSelect().Operand())
		return base, append(path, e.AsSelect().FieldName()), ok
	case ast.CallKind:
		call := e.AsCall()
		if call.FunctionName() != "_?._" && call.FunctionName() != "_[?_]" {
			return "", nil, false
		}
		key, isText := call.Args()[1].AsLiteral().Value().(string)
		if !isText {
			return "", nil, false
		}
		if base, path, ok := c.optional(call.Args()[0]); ok {
			return base, append(path, key), true
		}
		return c.value(call.Args()[0]), []string{key}, true
	}
	return "", nil, false
}

func (c *celRule) identifierTerm(name string) string {
	if local := "each_" + identifier(name); slices.Contains(c.locals, local) {
		return local
	}
	switch name {
	case "object":
		return "input.request.object"
	case "oldObject":
		if c.pods {
			return c.refuse("oldObject in a rule for workloads")
		}
		return "input.request.oldObject"
	case "request":
		return "input.request"
	case "namespaceObject":
		return "input.namespace"
	}
	return c.refuse("variable " + name)
}

// selection translates a.b. The spec and metadata of the object are those of the Pod template.
func (c *celRule) selection(e ast.SelectExpr) string {
	name := e.FieldName()
	if isIdentifier(e.Operand(), "variables") {
		if helper, ok := c.named[name]; ok {
			return helper
		}
		return c.refuse("variables." + name)
	}
	if isIdentifier(e.Operand(), "object") && c.pods && (name == "spec" || name == "metadata") {
		if !strings.Contains(c.source, "object."+name) {
			return c.refuse("path with spaces in a rule for workloads")
		}
		return ref("pod", name)
	}
	operand := c.value(e.Operand())
	if strings.ContainsAny(operand, "({[ `") {
		return "kyverno.at(" + operand + ", " + literal(name) + ")"
	}
	return ref(operand, name)
}
