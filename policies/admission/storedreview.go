package admission

import (
	"cmp"
	"fmt"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/lintel-policy/lintel/policies/terms"
)

// NewStoredReview is the review of an object that is stored already, in JSON, as if the object
// were created now. No user makes the request. The managedFields of the object are left out.
// resource is that of the object's kind, in the object's version.
func NewStoredReview(object []byte, resource ServedResource) (*Review, error) {
	term, err := terms.Decode(object)
	if err != nil {
		return nil, fmt.Errorf("reading the object: %w", err)
	}
	fields, ok := term.Value.(ast.Object)
	if !ok {
		return nil, fmt.Errorf("reading the object: must be a JSON object")
	}
	metadata, _ := terms.Lookup(fields, "metadata").(ast.Object)
	if metadata != nil && terms.Lookup(metadata, "managedFields") != nil {
		metadata = without(metadata, "managedFields")
		fields = terms.With(fields, "metadata", ast.NewTerm(metadata))
	}
	kind := ObjectKind(fields, GroupVersionKind{resource.Group, resource.Version, resource.Kind})
	name, namespace := terms.Text(metadata, "name"), terms.Text(metadata, "namespace")
	if kind.Group == "" && kind.Kind == "Namespace" {
		namespace = name // as the API server sends it
	}
	kindTerm := textObject("group", kind.Group, "version", kind.Version, "kind", kind.Kind)
	resourceTerm := textObject("group", resource.Group, "version", kind.Version, "resource", resource.Name)
	request := ast.NewObject(
		ast.Item(ast.StringTerm("uid"), ast.StringTerm(cmp.Or(terms.Text(metadata, "uid"), "audit"))),
		ast.Item(ast.StringTerm("kind"), kindTerm),
		ast.Item(ast.StringTerm("resource"), resourceTerm),
		ast.Item(ast.StringTerm("requestKind"), kindTerm),
		ast.Item(ast.StringTerm("requestResource"), resourceTerm),
		ast.Item(ast.StringTerm("name"), ast.StringTerm(name)),
		ast.Item(ast.StringTerm("operation"), ast.InternedTerm("CREATE")),
		ast.Item(ast.StringTerm("userInfo"), ast.ObjectTerm()),
		ast.Item(ast.StringTerm("object"), ast.NewTerm(fields)),
		ast.Item(ast.StringTerm("oldObject"), ast.InternedNullTerm),
		ast.Item(ast.StringTerm("dryRun"), ast.InternedTerm(false)),
		ast.Item(ast.StringTerm("options"), ast.InternedNullTerm),
	)
	if namespace != "" {
		request.Insert(ast.StringTerm("namespace"), ast.StringTerm(namespace))
	}
	review, err := reviewOf(request, requestObjects{})
	if err != nil {
		return nil, err
	}
	return review, review.check()
}

// without is an object without a key.
func without(object ast.Object, key string) ast.Object {
	var items [][2]*ast.Term
	object.Foreach(func(k, value *ast.Term) {
		if text, ok := k.Value.(ast.String); !ok || string(text) != key {
			items = append(items, ast.Item(k, value))
		}
	})
	return ast.NewObject(items...)
}
