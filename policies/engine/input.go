package engine

import (
	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/lintel-policy/lintel/policies/clusterdata"
	"github.com/lintel-policy/lintel/policies/eval"
	"github.com/lintel-policy/lintel/policies/external"
)

// InputFields are all that the input document can have.
var InputFields = []string{"apiVersion", "kind", "request", "name", "namespace", "scope", "parameters", "facts", "csr"}

// input is the document that a policy of the source reads: apiVersion and kind of the
// review, request, name, namespace, scope, parameters, csr where the object has a
// certificate request, and facts for built-in rules.
func (e *evaluation) input(s *source) *ast.Term {
	if input, ok := e.inputs[s]; ok {
		return input
	}
	items := [][2]*ast.Term{
		ast.Item(ast.InternedTerm("apiVersion"), ast.InternedTerm("admission.k8s.io/v1")),
		ast.Item(ast.InternedTerm("kind"), ast.InternedTerm("AdmissionReview")),
		ast.Item(ast.InternedTerm("request"), ast.NewTerm(e.review.Request())),
		ast.Item(ast.InternedTerm("name"), ast.InternedTerm(e.review.DisplayName())),
		ast.Item(ast.InternedTerm("scope"), s.document.Scope),
		ast.Item(ast.InternedTerm("parameters"), s.document.Parameters),
	}
	if e.namespace != nil {
		items = append(items, ast.Item(ast.InternedTerm("namespace"), ast.NewTerm(e.namespace.Value())))
	}
	if s.document.ReadsCSR {
		if e.csr == nil {
			e.csr = e.review.CertificateRequest()
		}
		if e.csr != nil {
			items = append(items, ast.Item(ast.InternedTerm("csr"), e.csr))
		}
	}
	if e.options.Facts != nil {
		items = append(items, ast.Item(ast.InternedTerm("facts"), e.options.Facts))
	}
	input := ast.ObjectTerm(items...)
	e.inputs[s] = input
	return input
}

// data is the data of the source with the cluster objects and external data that it reads.
func (e *evaluation) data(s *source) eval.Document {
	own := clusterdata.Document(s.document.Data, e.options.Cluster, s.document.Required, s.visibility())
	return external.Document(own, e.external, s.document.External)
}
