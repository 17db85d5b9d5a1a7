package kyverno

import (
	"fmt"
	"slices"
	"strings"

	"github.com/google/cel-go/common"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/parser"
)

// celRule translates validate.cel. An expression in CEL is true, false or an error, and an error
// denies. So each is translated to lines that hold if it is true, and lines that hold if it is false;
// an undefined term is an error.
type celRule struct {
	*rule
	at     field
	source string
	locals []string
	named  map[string]string // the rules of variables by name
	isBool map[string]bool   // variables with a condition
}

// cel translates validate.cel.
func (r *rule) cel(f field) {
	r.onlyKeys(f, "expressions", "variables")
	if slices.Contains(r.field.get("match", "any").texts(), "DELETE") {
		r.add(f, "validate.cel about DELETE", "write the rule in Rego")
	}
	c := &celRule{rule: r, at: f, named: map[string]string{}, isBool: map[string]bool{}}
	for _, item := range f.get("variables").items() {
		c.define(item)
	}
	var applies []string
	for _, item := range r.field.get("celPreconditions").items() {
		if tree, ok := c.parse(item.get("expression")); ok {
			applies = append(applies, c.holds(tree)...)
			r.applies = append(r.applies, "not "+c.rule.module.define("excluded", "", c.fails(tree)))
		}
	}
	for i, item := range f.get("expressions").items() {
		r.onlyKeys(item, "expression", "message", "messageExpression", "reason")
		tree, ok := c.parse(item.get("expression"))
		if !ok {
			continue
		}
		name := r.module.helperName("valid")
		r.module.helpers = append(r.module.helpers, body(name, slices.Concat(applies, c.holds(tree))))
		r.denials = append(r.denials, []string{"not " + name})
		r.messages = append(r.messages, c.message(item, i))
	}
}

// message is the term of the message of an expression.
func (c *celRule) message(f field, number int) string {
	text := c.constantMessage(f, number)
	expression := f.get("messageExpression")
	if !expression.exists() {
		return text
	}
	tree, ok := c.parse(expression)
	if !ok {
		return text
	}
	name := c.module.helperName("message")
	c.module.helpers = append(c.module.helpers, "default "+name+" := "+text+"\n", body(name+" := text", []string{"text := " + c.value(tree), "is_string(text)"}))
	return name
}

// constantMessage is the term of the message without an expression, or if that has no value.
func (c *celRule) constantMessage(f field, number int) string {
	if text := strings.TrimSpace(f.get("message").text()); text != "" {
		return literal(text)
	}
	if text := strings.TrimSpace(c.field.get("validate", "message").text()); text != "" {
		return literal(text)
	}
	return literal(fmt.Sprintf("validation error: expression %d of rule %s is false", number+1, c.name()))
}

// define adds the rule of a variable.
func (c *celRule) define(f field) {
	name := f.get("name").text()
	tree, ok := c.parse(f.get("expression"))
	if !ok {
		return
	}
	helper := c.module.helperName(identifier(name))
	if c.isCondition(tree) {
		c.module.helpers = append(c.module.helpers, body(helper+" := true", c.holds(tree)), body(helper+" := false", c.fails(tree)))
		c.isBool[name] = true
	} else {
		c.module.helpers = append(c.module.helpers, helper+" := "+c.value(tree)+"\n")
	}
	c.named[name] = helper
}

func (c *celRule) parse(f field) (ast.Expr, bool) {
	p, err := parser.NewParser(parser.EnableOptionalSyntax(true))
	if err != nil {
		c.add(f, "CEL", err.Error())
		return nil, false
	}
	tree, errs := p.Parse(common.NewTextSource(f.text()))
	if len(errs.GetErrors()) > 0 {
		c.add(f, "invalid CEL", strings.Join(strings.Fields(errs.ToDisplayString()), " "))
		return nil, false
	}
	c.at, c.source = f, f.text()
	return tree.Expr(), true
}

func (c *celRule) refuse(what string) string {
	c.add(c.at, "CEL "+what, "write the condition in Rego, or the policy as a ValidatingAdmissionPolicy")
	return "null"
}

// celConditions are the functions and operators that are true or false.
var celConditions = []string{"_&&_", "_||_", "!_", "_==_", "_!=_", "_<_", "_<=_", "_>_", "_>=_", "@in", "has", "all", "exists", "startsWith", "endsWith", "contains", "matches", "hasValue", "exists_one"}

func (c *celRule) isCondition(e ast.Expr) bool {
	switch e.Kind() {
	case ast.LiteralKind:
		_, ok := e.AsLiteral().Value().(bool)
		return ok
	case ast.SelectKind:
		return isIdentifier(e.AsSelect().Operand(), "variables") && c.isBool[e.AsSelect().FieldName()]
	case ast.CallKind:
		call := e.AsCall()
		if call.FunctionName() == "_?_:_" {
			return c.isCondition(call.Args()[1]) && c.isCondition(call.Args()[2])
		}
		return slices.Contains(celConditions, call.FunctionName())
	}
	return false
}

func isIdentifier(e ast.Expr, name string) bool {
	return e.Kind() == ast.IdentKind && e.AsIdent() == name
}

// either is a statement that holds if one of several bodies does.
func (c *celRule) either(name string, bodies ...[]string) []string {
	var arguments []string
	for _, local := range c.locals {
		if slices.ContainsFunc(bodies, func(lines []string) bool { return mentions(strings.Join(lines, "\n"), local) }) {
			arguments = append(arguments, local)
		}
	}
	list := strings.Join(arguments, ", ")
	helper := c.module.define(name, list, bodies...)
	if list == "" {
		return []string{helper}
	}
	return []string{helper + "(" + list + ")"}
}

// holds are lines that hold if a condition is true.
func (c *celRule) holds(e ast.Expr) []string { return c.is(e, true) }

// fails are lines that hold if a condition is false.
func (c *celRule) fails(e ast.Expr) []string { return c.is(e, false) }

func (c *celRule) is(e ast.Expr, wanted bool) []string {
	switch {
	case e.Kind() == ast.LiteralKind:
		if value, ok := e.AsLiteral().Value().(bool); ok && value == wanted {
			return []string{"true"}
		}
		return []string{"false"}
	case e.Kind() != ast.CallKind:
		return []string{c.value(e) + " == " + fmt.Sprint(wanted)}
	}
	call := e.AsCall()
	args := call.Args()
	switch name := call.FunctionName(); name {
	case "_&&_", "_||_":
		left, right := c.is(args[0], wanted), c.is(args[1], wanted)
		if (name == "_&&_") == wanted {
			return append(left, right...)
		}
		return c.either("any_of", left, right)
	case "!_":
		return c.is(args[0], !wanted)
	case "_?_:_":
		return c.either("chosen", append(c.holds(args[0]), c.is(args[1], wanted)...), append(c.fails(args[0]), c.is(args[2], wanted)...))
	case "_==_", "_!=_":
		if c.isCondition(args[0]) && c.isCondition(args[1]) {
			if same := (name == "_==_") == wanted; args[1].Kind() == ast.LiteralKind {
				return c.is(args[0], args[1].AsLiteral().Value().(bool) == same)
			}
		}
		operator := map[bool]string{true: " == ", false: " != "}[(name == "_==_") == wanted]
		return []string{c.value(args[0]) + operator + c.value(args[1])}
	case "all", "exists":
		return c.quantified(call, name, wanted)
	}
	if !c.booleanFunction(call) {
		return []string{c.value(e) + " == " + fmt.Sprint(wanted)}
	}
	return []string{c.boolean(e) + " == " + fmt.Sprint(wanted)}
}

// quantified translates list.all(x, …) and list.exists(x, …).
func (c *celRule) quantified(call ast.CallExpr, name string, wanted bool) []string {
	args := call.Args()
	if len(args) != 2 || args[0].Kind() != ast.IdentKind {
		return []string{c.refuse(name)}
	}
	domain := "kyverno.range(" + c.value(call.Target()) + ")"
	local := c.local(args[0].AsIdent())
	defer func() { c.locals = c.locals[:len(c.locals)-1] }()
	if (name == "all") == wanted {
		return []string{every(local, domain, c.is(args[1], wanted))}
	}
	lines := append([]string{"some " + local + " in " + domain}, c.is(args[1], wanted)...)
	outer := c.locals
	c.locals = c.locals[:len(c.locals)-1]
	out := c.either("found", lines)
	c.locals = outer
	return out
}

// local declares a variable of an expression.
func (c *celRule) local(name string) string {
	c.locals = append(c.locals, "each_"+identifier(name))
	return c.locals[len(c.locals)-1]
}

// celFunctions are the functions of the library for the operators and methods of CEL.
var celFunctions = map[string]string{
	"_<_": "is_less", "_<=_": "is_at_most", "_>_": "is_more", "_>=_": "is_at_least", "@in": "contained", "startsWith": "starts_with", "endsWith": "ends_with",
	"contains": "has", "_+_": "added", "size": "length", "split": "parts", "int": "whole", "string": "cel_text", "duration": "duration", "upperAscii": "upper_case", "lowerAscii": "lower_case", "join": "glued",
}

// booleanFunction reports whether the library evaluates a call as a condition.
func (c *celRule) booleanFunction(call ast.CallExpr) bool {
	return slices.Contains(celConditions, call.FunctionName())
}

// boolean is the term of a condition that the library evaluates.
func (c *celRule) boolean(e ast.Expr) string {
	call := e.AsCall()
	args := call.Args()
	switch name := call.FunctionName(); name {
	case "has":
		if len(args) == 1 && args[0].Kind() == ast.SelectKind {
			return "kyverno.has_key(" + c.value(args[0].AsSelect().Operand()) + ", " + literal(args[0].AsSelect().FieldName()) + ")"
		}
		return c.refuse("has of an optional")
	case "exists_one":
		if len(args) != 2 || args[0].Kind() != ast.IdentKind {
			return c.refuse(name)
		}
		return "kyverno.is_one(" + c.selected("map", c.value(call.Target()), args) + ")"
	case "matches":
		return "kyverno.matches_expression(" + c.value(args[0]) + ", " + c.value(call.Target()) + ")"
	case "hasValue":
		base, path, ok := c.optional(call.Target())
		if !ok {
			return c.refuse("hasValue")
		}
		return "kyverno.has_path(" + base + ", " + literal(path) + ")"
	}
	return c.call(call)
}

// call translates a function of the library.
func (c *celRule) call(call ast.CallExpr) string {
	function, ok := celFunctions[call.FunctionName()]
	if !ok {
		return c.refuse("function " + call.FunctionName())
	}
	var args []string
	if call.IsMemberFunction() {
		args = append(args, c.value(call.Target()))
	}
	for _, arg := range call.Args() {
		args = append(args, c.value(arg))
	}
	return "kyverno." + function + "(" + strings.Join(args, ", ") + ")"
}
