package engine

import (
	"bytes"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/lintel-policy/lintel/policies/eval"
	"github.com/lintel-policy/lintel/policies/jsonpatch"
)

// An object with unknown values is patched with a mark in place of each of them. A patch that
// depends on such a value panics with a *eval.UnknownError; other patches carry the marks along.

// unknownMark begins a mark, which the reference of the value follows. encodedMark is the same as
// encoding/json writes it.
const (
	unknownMark = "\x00unknown "
	encodedMark = `\u0000unknown `
)

// toPartialJSON is toJSON with marks in place of unknown values.
func toPartialJSON(object ast.Object) any {
	if object.IsGround() {
		return toJSON(object)
	}
	return toJSON(replaced(object, func(value ast.Value) ast.Value {
		if reference, unknown := value.(ast.Var); unknown {
			return ast.String(unknownMark + string(reference))
		}
		return value
	}).(ast.Object))
}

// fromPartialJSON is the reverse of toPartialJSON.
func fromPartialJSON(root any, hasMarks bool) (ast.Object, bool) {
	object, ok := fromJSON(root)
	if !ok || !hasMarks {
		return object, ok
	}
	return replaced(object, func(value ast.Value) ast.Value {
		if text, isText := value.(ast.String); isText {
			if reference, marked := strings.CutPrefix(string(text), unknownMark); marked {
				return eval.NewUnknown(reference).Value
			}
		}
		return value
	}).(ast.Object), true
}

// replaced is a value of JSON with its scalars replaced.
func replaced(value ast.Value, replace func(ast.Value) ast.Value) ast.Value {
	switch value := value.(type) {
	case ast.Object:
		fields := make([][2]*ast.Term, 0, value.Len())
		value.Foreach(func(key, field *ast.Term) {
			fields = append(fields, [2]*ast.Term{key, ast.NewTerm(replaced(field.Value, replace))})
		})
		return ast.NewObject(fields...)
	case *ast.Array:
		elements := make([]*ast.Term, 0, value.Len())
		value.Foreach(func(element *ast.Term) {
			elements = append(elements, ast.NewTerm(replaced(element.Value, replace)))
		})
		return ast.NewArray(elements...)
	}
	return replace(value)
}

// unknownOf returns an error if a value of JSON is a mark.
func unknownOf(value any) *eval.UnknownError {
	text, _ := value.(string)
	if reference, marked := strings.CutPrefix(text, unknownMark); marked {
		return &eval.UnknownError{Reference: reference}
	}
	return nil
}

// unknownBelow returns an error for a mark in a value of JSON.
func unknownBelow(value any) *eval.UnknownError {
	switch value := value.(type) {
	case map[string]any:
		for _, field := range value {
			if unknown := unknownBelow(field); unknown != nil {
				return unknown
			}
		}
	case []any:
		for _, element := range value {
			if unknown := unknownBelow(element); unknown != nil {
				return unknown
			}
		}
	}
	return unknownOf(value)
}

// unknownRead returns an error if a step depends on an unknown value of a document: one that it
// compares or copies, or one above the path that it changes.
func unknownRead(root any, step jsonpatch.Step) *eval.UnknownError {
	for _, path := range [][]string{step.Path, step.From} {
		for i := range path {
			if unknown := unknownOf(jsonpatch.ValueAt(root, path[:i])); unknown != nil {
				return unknown
			}
		}
	}
	switch step.Op {
	case "test":
		return unknownBelow(jsonpatch.ValueAt(root, step.Path))
	case "copy", "move":
		return unknownBelow(jsonpatch.ValueAt(root, step.From))
	}
	return nil
}

// unknownDefault returns an error if it depends on an unknown value which defaults apply.
func unknownDefault(node, defaults any) *eval.UnknownError {
	fields, isMap := defaults.(map[string]any)
	if !isMap || len(fields) == 0 {
		return nil
	}
	if unknown := unknownOf(node); unknown != nil {
		return unknown
	}
	object, _ := node.(map[string]any)
	for name, value := range fields {
		if unknown := unknownDefault(object[name], value); unknown != nil {
			return unknown
		}
	}
	return nil
}

// unknownApplied returns an error if an operation contains an unknown value: it would be part of
// the patch.
func unknownApplied(operations []jsonpatch.Operation) *eval.UnknownError {
	for _, operation := range operations {
		if bytes.Contains(operation.Value, []byte(encodedMark)) {
			return &eval.UnknownError{Reference: "a value below " + operation.Path}
		}
	}
	return nil
}

// unknownPaths calls each with the path of each mark in a value of JSON.
func unknownPaths(value any, path []any, each func(path []any, unknown *eval.UnknownError)) {
	switch value := value.(type) {
	case map[string]any:
		for name, field := range value {
			unknownPaths(field, append(path[:len(path):len(path)], name), each)
		}
	case []any:
		for i, element := range value {
			unknownPaths(element, append(path[:len(path):len(path)], i), each)
		}
	default:
		if unknown := unknownOf(value); unknown != nil {
			each(path, unknown)
		}
	}
}
