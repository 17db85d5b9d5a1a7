package webhooks

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/lintel-policy/lintel/policies/admission"
)

// details returns the function that writes the details of a finding as JSON for the log. Details may
// have values of the object: values in masked places are replaced where they occur, and the details
// of kinds that exist to keep values secret are masked as a whole.
func (m Mask) details(review *admission.Review) func(details any) string {
	if review == nil || maskOf(review.Kind) != nil {
		return func(any) string { return masked }
	}
	known := false
	var hidden map[string]bool
	return func(details any) string {
		if !known {
			hidden, known = append(Mask{}, append(lastApplied, m...)...).values(review), true
		}
		text, err := json.Marshal(details)
		if err != nil {
			return masked
		}
		if len(hidden) == 0 {
			return string(text)
		}
		decoder := json.NewDecoder(bytes.NewReader(text))
		decoder.UseNumber()
		var node any
		if decoder.Decode(&node) != nil {
			return masked
		}
		if text, err = json.Marshal(hide(node, hidden)); err != nil {
			return masked
		}
		return string(text)
	}
}

// minContained is the length from which a hidden value is also found inside a text: a digit is in
// many texts.
const minContained = 4

// hide replaces hidden values, and texts that contain one.
func hide(node any, hidden map[string]bool) any {
	switch node := node.(type) {
	case map[string]any:
		out := make(map[string]any, len(node))
		for key, child := range node {
			if name, ok := hide(key, hidden).(string); ok {
				out[name] = hide(child, hidden)
			}
		}
		return out
	case []any:
		for i, child := range node {
			node[i] = hide(child, hidden)
		}
		return node
	case nil, bool:
		return node
	}
	text := fmt.Sprint(node)
	for value := range hidden {
		if text == value || len(value) >= minContained && strings.Contains(text, value) {
			return masked
		}
	}
	return node
}

// values are the texts and numbers in the masked places of both objects of a review.
func (m Mask) values(review *admission.Review) map[string]bool {
	found := map[string]bool{}
	for _, of := range []*admission.Object{review.New, review.Old} {
		object := of.Value()
		if object == nil {
			continue
		}
		for _, path := range m {
			collectLeaves(ast.NewTerm(object), path, found)
		}
	}
	return found
}

// visit collects the leaves at and below a place.
func visit(node any, path []string, found map[string]bool) {
	switch node := node.(type) {
	case map[string]any:
		for name, child := range node {
			switch {
			case len(path) == 0:
				visit(child, nil, found)
			case path[0] == "*" || path[0] == name:
				visit(child, path[1:], found)
			}
		}
	case []any:
		for i, child := range node {
			switch {
			case len(path) == 0:
				visit(child, nil, found)
			case path[0] == "*" || path[0] == fmt.Sprint(i):
				visit(child, path[1:], found)
			}
		}
	case string, json.Number:
		if text := fmt.Sprint(node); len(path) == 0 && text != "" {
			found[text] = true
		}
	}
}

// collectLeaves is visit for a term.
func collectLeaves(node *ast.Term, path []string, found map[string]bool) {
	rest := path
	if len(path) > 0 {
		rest = path[1:]
	}
	switch value := node.Value.(type) {
	case ast.Object:
		value.Foreach(func(key, child *ast.Term) {
			name, _ := key.Value.(ast.String)
			if len(path) == 0 || path[0] == "*" || path[0] == string(name) {
				collectLeaves(child, rest, found)
			}
		})
	case *ast.Array:
		for i := range value.Len() {
			if len(path) == 0 || path[0] == "*" || path[0] == strconv.Itoa(i) {
				collectLeaves(value.Elem(i), rest, found)
			}
		}
	case ast.String:
		if len(path) == 0 && value != "" {
			found[string(value)] = true
		}
	case ast.Number:
		if len(path) == 0 {
			found[string(value)] = true
		}
	}
}
