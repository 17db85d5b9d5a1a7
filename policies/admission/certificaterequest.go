package admission

import (
	"encoding/base64"
	"encoding/json"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/lintel-policy/lintel/policies/csr"
	"github.com/lintel-policy/lintel/policies/terms"
)

// requestResources are the resources whose spec.request is a PKCS#10 certificate
// request in PEM, base64-encoded as JSON wants it.
var requestResources = map[[2]string]bool{
	{"certificates.k8s.io", "certificatesigningrequests"}: true,
	{"cert-manager.io", "certificaterequests"}:            true,
}

// CertificateRequest is the certificate request that the object carries, as policies read
// it: nil if it carries none.
func (r *Review) CertificateRequest() *ast.Term {
	if !requestResources[[2]string{r.Resource.Group, r.Resource.Resource}] {
		return nil
	}
	spec, _ := terms.Lookup(r.New.Value(), "spec").(ast.Object)
	encoded, ok := terms.Lookup(spec, "request").(ast.String)
	if !ok {
		return nil
	}
	text, err := base64.StdEncoding.DecodeString(string(encoded))
	if err != nil {
		return requestTerm(csr.Unreadable("spec.request: must be base64"))
	}
	return requestTerm(csr.Parse(text))
}

func requestTerm(parsed *csr.Request) *ast.Term {
	text, err := json.Marshal(parsed)
	if err != nil {
		return nil
	}
	term, err := terms.Decode(text)
	if err != nil {
		return ast.ObjectTerm(ast.Item(ast.InternedTerm("error"), ast.StringTerm(err.Error())))
	}
	return term
}
