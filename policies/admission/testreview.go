package admission

import (
	"fmt"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/lintel-policy/lintel/policies/terms"
)

// NewTestReview is the review of a test: an AdmissionRequest in JSON from which any
// field may be missing. Policies find those empty, and where there is no operation,
// every constraint that matches the object is asked.
func NewTestReview(request []byte) (*Review, error) {
	fields, err := decodeRequest(request)
	if err != nil {
		return nil, err
	}
	review, err := reviewOf(withEmptyFields(fields), requestObjects{})
	if err == nil && review.Kind.Kind == "" {
		object := review.New
		if object == nil {
			object = review.Old
		}
		review.Kind = ObjectKind(object.Value(), review.Kind)
	}
	return review, err
}

// NewTestObjectReview is the review of an object by itself.
func NewTestObjectReview(object []byte) (*Review, error) {
	term, err := terms.Decode(object)
	if err != nil {
		return nil, fmt.Errorf("reading the object: %w", err)
	}
	fields, ok := term.Value.(ast.Object)
	if !ok || terms.Text(fields, "kind") == "" {
		return nil, fmt.Errorf("reading the object: it has no kind")
	}
	metadata, _ := terms.Lookup(fields, "metadata").(ast.Object)
	kind := ObjectKind(fields, GroupVersionKind{})
	request := ast.NewObject(
		ast.Item(ast.StringTerm("kind"), textObject("group", kind.Group, "version", kind.Version, "kind", kind.Kind)),
		ast.Item(ast.StringTerm("object"), ast.NewTerm(fields)),
	)
	for _, field := range []string{"name", "namespace"} {
		if value := terms.Text(metadata, field); value != "" {
			request.Insert(ast.StringTerm(field), ast.StringTerm(value))
		}
	}
	return reviewOf(withEmptyFields(request), requestObjects{})
}

// withEmptyFields adds the fields that every AdmissionRequest in JSON has.
func withEmptyFields(request ast.Object) ast.Object {
	for field, value := range map[string]*ast.Term{
		"uid":       ast.StringTerm(""),
		"kind":      textObject("group", "", "version", "", "kind", ""),
		"resource":  textObject("group", "", "version", "", "resource", ""),
		"operation": ast.StringTerm(""),
		"userInfo":  ast.ObjectTerm(),
		"object":    ast.InternedNullTerm,
		"oldObject": ast.InternedNullTerm,
		"options":   ast.InternedNullTerm,
	} {
		if terms.Lookup(request, field) == nil {
			request = terms.With(request, field, value)
		}
	}
	return request
}

func textObject(pairs ...string) *ast.Term {
	object := ast.NewObject()
	for i := 0; i < len(pairs); i += 2 {
		object.Insert(ast.StringTerm(pairs[i]), ast.StringTerm(pairs[i+1]))
	}
	return ast.NewTerm(object)
}
