package admission

import (
	"sync"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/lintel-policy/lintel/policies/terms"
)

const (
	// generatedSuffix is in place of the five random characters of a generated name.
	generatedSuffix = "xxxxx"
	// maxGeneratedPrefix is how much of generateName an API server takes.
	maxGeneratedPrefix = 58
)

// GeneratedName is a name that an API server may generate from generateName: always the same one.
func GeneratedName(generateName string) string {
	return generateName[:min(len(generateName), maxGeneratedPrefix)] + generatedSuffix
}

// WithGeneratedName is the review as validating webhooks receive it: an API server generates the
// name of an object with generateName between the mutating and the validating webhooks. Other
// reviews stay as they are.
func (r *Review) WithGeneratedName() *Review {
	metadata, _ := terms.Lookup(r.New.Value(), "metadata").(ast.Object)
	generateName := terms.Text(metadata, "generateName")
	isCreation := r.Operation == "CREATE" || r.Operation == "" // of a test
	if !isCreation || r.SubResource != "" || r.Name != "" || generateName == "" || terms.Text(metadata, "name") != "" {
		return r
	}
	name := ast.StringTerm(GeneratedName(generateName))
	named := r.WithObject(terms.With(r.New.Value(), "metadata", ast.NewTerm(terms.With(metadata, "name", name))))
	unnamed := named.Request
	named.Name = GeneratedName(generateName)
	named.Request = sync.OnceValue(func() ast.Object { return terms.With(unnamed(), "name", name) })
	return named
}
