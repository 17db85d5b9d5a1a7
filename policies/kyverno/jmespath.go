package kyverno

import (
	"fmt"
	"slices"
	"strings"

	jmespath "github.com/kyverno/go-jmespath"
)

// place is a value of which fields are read: a reference of Rego, and the fields below.
type place struct {
	base string
	path []string
	// isRoot is the document that expressions start from.
	isRoot bool
}

// expressions translates JMESPath to terms of Rego. A strict term is undefined where Kyverno
// reports a missing key, and a lenient one is null.
type expressions struct {
	*refusals
	module *module
	// pods reports that the rule is also about the Pod templates of workloads.
	pods bool
	// source is the expression that is translated, for messages and autogen.
	source string
	// object is the reference to the object of the request.
	object string
	// elements are the variables of the foreach loops around, the outermost first.
	elements []string
	// variables are the entries of context, by name.
	variables map[string]string
	// imagesOf is the Pod or Pod template whose images the variable images has.
	imagesOf string
	// inner are the terms of variables inside of expressions, by the number in their placeholder.
	inner []string
}

const variableHint = "the variable has no equivalent; write the condition in Rego"

// expression translates the text of an expression.
func (e *expressions) expression(at field, source string, lenient bool) string {
	tree, ok := e.parse(at, source)
	if !ok {
		return "null"
	}
	if simple := e.defaulted(tree); simple != "" {
		return simple
	}
	return e.term(at, tree, place{isRoot: true}, lenient)
}

func (e *expressions) parse(at field, source string) (jmespath.ASTNode, bool) {
	parsed, ok := e.withPlaceholders(at, source)
	if !ok {
		return jmespath.ASTNode{}, false
	}
	tree, err := jmespath.NewParser().Parse(parsed)
	if err != nil {
		e.add(at, "invalid JMESPath", fmt.Sprintf("%s: %v", source, err))
		return tree, false
	}
	e.source = source
	return tree, true
}

// defaulted simplifies `request.operation || 'BACKGROUND'`: reviews always have an operation.
func (e *expressions) defaulted(tree jmespath.ASTNode) string {
	if tree.NodeType != jmespath.ASTOrExpression {
		return ""
	}
	if path, ok := fieldPath(tree.Children[0]); ok && slices.Equal(path, []string{"request", "operation"}) {
		return "input.request.operation"
	}
	return ""
}

// fieldPath is the path of an expression that only names fields.
func fieldPath(tree jmespath.ASTNode) ([]string, bool) {
	switch tree.NodeType {
	case jmespath.ASTField:
		return []string{tree.Value.(string)}, true
	case jmespath.ASTSubexpression:
		left, ok := fieldPath(tree.Children[0])
		if !ok {
			return nil, false
		}
		right, ok := fieldPath(tree.Children[1])
		return append(left, right...), ok
	}
	return nil, false
}

// term translates a tree in a place.
func (e *expressions) term(at field, tree jmespath.ASTNode, here place, lenient bool) string {
	leniently := func(child int) string { return e.term(at, tree.Children[child], here, true) }
	switch tree.NodeType {
	case jmespath.ASTField:
		return e.read(at, e.below(at, here, tree.Value.(string)), lenient)
	case jmespath.ASTIdentity, jmespath.ASTCurrentNode:
		return e.read(at, here, lenient)
	case jmespath.ASTLiteral:
		return e.literalTerm(at, tree.Value)
	case jmespath.ASTSubexpression, jmespath.ASTIndexExpression:
		return e.subexpression(at, tree, here, lenient)
	case jmespath.ASTPipe:
		left := lenientTerm(e.term(at, tree.Children[0], here, true))
		return e.term(at, tree.Children[1], left, lenient)
	case jmespath.ASTIndex:
		return fmt.Sprintf("kyverno.item(%s, %d)", e.read(at, here, lenient), tree.Value.(int))
	case jmespath.ASTFlatten:
		return "kyverno.flatten(" + leniently(0) + ")"
	case jmespath.ASTProjection:
		return e.projection(at, leniently(0), tree.Children[1], nil)
	case jmespath.ASTFilterProjection:
		return e.projection(at, leniently(0), tree.Children[1], &tree.Children[2])
	case jmespath.ASTValueProjection:
		return e.projection(at, "kyverno.values("+leniently(0)+")", tree.Children[1], nil)
	case jmespath.ASTOrExpression:
		return "kyverno.either(" + leniently(0) + ", " + leniently(1) + ")"
	case jmespath.ASTAndExpression:
		return "kyverno.both(" + leniently(0) + ", " + leniently(1) + ")"
	case jmespath.ASTNotExpression:
		return "kyverno.falsy(" + leniently(0) + ")"
	case jmespath.ASTMultiSelectList:
		var parts []string
		for i := range tree.Children {
			parts = append(parts, leniently(i))
		}
		return e.of(at, here, "["+strings.Join(parts, ", ")+"]", lenient)
	case jmespath.ASTMultiSelectHash:
		var parts []string
		for _, child := range tree.Children {
			parts = append(parts, literal(child.Value)+": "+e.term(at, child.Children[0], here, true))
		}
		return e.of(at, here, "{"+strings.Join(parts, ", ")+"}", lenient)
	case jmespath.ASTComparator:
		if operator := comparators[fmt.Sprint(tree.Value)]; operator != "" {
			return "kyverno." + operator + "(" + leniently(0) + ", " + leniently(1) + ")"
		}
	case jmespath.ASTFunctionExpression:
		return e.call(at, tree, here)
	}
	e.add(at, "JMESPath "+tree.NodeType.String(), "the expression "+e.source+" has no equivalent; write the condition in Rego")
	return "null"
}

// of is a selection from a value, which is null if the value is. The spec of a Pod and the user
// of a request always exist.
func (e *expressions) of(at field, here place, selection string, lenient bool) string {
	if here.isRoot {
		return selection
	}
	if here.base == requestPath && len(here.path) > 0 {
		base, path := e.request(at, here.path)
		if base == "input.request" && path[0] == "userInfo" || (base == "pod" || isObject(base)) && slices.Equal(path, []string{"spec"}) {
			return selection
		}
	}
	return "kyverno.of(" + e.read(at, here, lenient) + ", " + selection + ")"
}

// comparators are the functions of the library by the token of JMESPath.
var comparators = map[string]string{
	"tEQ": "same", "tNE": "different", "tLT": "is_less", "tLTE": "is_at_most", "tGT": "is_more", "tGTE": "is_at_least",
}

func lenientTerm(term string) place { return place{base: term} }

// subexpression translates left.right.
func (e *expressions) subexpression(at field, tree jmespath.ASTNode, here place, lenient bool) string {
	left, right := tree.Children[0], tree.Children[1]
	if path, ok := fieldPath(left); ok {
		for _, key := range path {
			here = e.below(at, here, key)
		}
		if right.NodeType == jmespath.ASTField {
			return e.term(at, right, here, lenient)
		}
	} else if left.NodeType != jmespath.ASTIdentity && left.NodeType != jmespath.ASTCurrentNode {
		here = place{base: e.term(at, left, here, false)}
	}
	term := e.term(at, right, here, false)
	if strings.HasPrefix(term, "kyverno.of(kyverno.images(") { // an image without a valid name is an error
		return term
	}
	if lenient && !strings.HasPrefix(term, "[") && !strings.HasPrefix(term, "{") {
		return "kyverno.found([found | found := " + term + "])"
	}
	return term
}

// below is the place of a field.
func (e *expressions) below(at field, here place, key string) place {
	if !here.isRoot {
		return place{base: here.base, path: append(slices.Clone(here.path), key)}
	}
	return e.root(at, key)
}

// images is the variable images: the parts of the images of a Pod.
func (e *expressions) images(at field) place {
	if e.imagesOf == "" {
		e.add(at, "variable images", "compare the text of the image in Rego")
		return place{base: "null"}
	}
	if strings.Contains(e.source, "jsonPointer") {
		e.add(at, "variable images with jsonPointer", "compare the text of the image in Rego")
	}
	return place{base: "kyverno.images(" + e.imagesOf + ")"}
}

// requestPath marks the document `request`.
const requestPath = "request"

// root is the place of a variable.
func (e *expressions) root(at field, key string) place {
	if term, ok := e.variables[key]; ok {
		return place{base: term}
	}
	switch key {
	case "request":
		return place{base: requestPath, path: nil}
	case "element":
		if n := len(e.elements); n > 0 {
			return place{base: e.elements[n-1]}
		}
	case "elementIndex":
		if n := len(e.elements); n > 0 {
			return place{base: e.elements[n-1] + "_index"}
		}
	case "serviceAccountNamespace":
		return place{base: "kyverno.service_account[0]"}
	case "serviceAccountName":
		return place{base: "kyverno.service_account[1]"}
	case "images":
		return e.images(at)
	case "":
		return place{base: "null"}
	}
	for depth := range e.elements {
		switch key {
		case fmt.Sprintf("element%d", depth):
			return place{base: e.elements[depth]}
		case fmt.Sprintf("elementIndex%d", depth):
			return place{base: e.elements[depth] + "_index"}
		}
	}
	e.add(at, "variable "+key, variableHint)
	return place{base: "null"}
}

// read is the term of a place.
func (e *expressions) read(at field, here place, lenient bool) string {
	if here.isRoot {
		e.add(at, "JMESPath @ outside of an expression", "name the variable")
		return "null"
	}
	base, path := here.base, here.path
	if base == requestPath {
		base, path = e.request(at, path)
	}
	if len(path) == 0 {
		return base
	}
	switch {
	case lenient && isObject(base):
		return "object.get(" + base + ", " + e.keyList(path) + ", null)"
	case lenient:
		return "kyverno.get(" + base + ", " + e.keyList(path) + ")"
	case isReference(base) && !slices.ContainsFunc(path, hasPlaceholder):
		return ref(base, path...)
	}
	for _, key := range path {
		base = "kyverno.field(" + base + ", " + e.spliced(key) + ")"
	}
	return base
}

// isObject reports whether a reference is always an object.
func isObject(base string) bool {
	return slices.Contains([]string{"input.request", "input.request.object", "reviewed", "pod"}, base)
}

func isReference(base string) bool { return !strings.ContainsAny(base, "({ `") }

// request is the base of a path below request.
func (e *expressions) request(at field, path []string) (base string, rest []string) {
	if len(path) == 0 {
		return "input.request", nil
	}
	switch path[0] {
	case "object":
		if e.pods && len(path) > 1 && (path[1] == "spec" || path[1] == "metadata") {
			if strings.Contains(e.source, "request.object."+path[1]) {
				return "pod", path[1:]
			}
		}
		return e.object, path[1:]
	case "oldObject":
		if e.pods {
			e.add(at, "request.oldObject in a rule for workloads", "set the annotation pod-policies.kyverno.io/autogen-controllers to none, or write the rule in Rego")
		}
	case "roles", "clusterRoles":
		e.add(at, "request."+path[0], "Lintel does not resolve RBAC; compare request.userInfo.groups")
	case "name":
		return "input.name", path[1:]
	}
	return "input.request", path
}

// projection translates list[].rest and list[?condition].rest.
func (e *expressions) projection(at field, list string, rest jmespath.ASTNode, condition *jmespath.ASTNode) string {
	isIdentity := rest.NodeType == jmespath.ASTIdentity || rest.NodeType == jmespath.ASTCurrentNode
	path, isPath := fieldPath(rest)
	switch {
	case condition == nil && isIdentity:
		return "kyverno.compact(" + list + ")"
	case condition == nil && isPath && !slices.ContainsFunc(path, hasPlaceholder):
		return "kyverno.pluck(" + list + ", " + literal(path) + ")"
	}
	one := place{base: "one"}
	lines := []string{"some one in list"}
	if condition != nil {
		lines = append(lines, "kyverno.truthy("+e.term(at, *condition, one, true)+")")
	}
	if isIdentity {
		lines = append(lines, "value := one")
	} else {
		lines = append(lines, "value := "+e.term(at, rest, one, false))
	}
	lines = append(lines, "value != null")
	name := e.module.helperName("selected")
	arguments := strings.Join(append([]string{"list"}, e.mentioned(lines)...), ", ")
	e.module.helpers = append(e.module.helpers,
		body(name+"("+arguments+") := [value |\n"+indent(lines)+"]", []string{"is_array(list)"}),
		body(name+"("+strings.Join(append([]string{"list"}, slices.Repeat([]string{"_"}, len(e.mentioned(lines)))...), ", ")+") := null", []string{"not is_array(list)"}))
	return name + "(" + strings.Join(append([]string{list}, e.mentioned(lines)...), ", ") + ")"
}

// mentioned are the variables of the loops around that lines use.
func (e *expressions) mentioned(lines []string) (out []string) {
	text := strings.Join(lines, "\n")
	for _, element := range e.elements {
		for _, name := range []string{element, element + "_index"} {
			if mentions(text, name) {
				out = append(out, name)
			}
		}
	}
	return out
}
