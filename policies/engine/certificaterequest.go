package engine

import (
	"encoding/base64"
	"encoding/json"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/lintel-policy/lintel/policies/csr"
)

// requestResources are the resources whose spec.request is a PKCS#10 certificate
// request in PEM, base64-encoded as JSON wants it.
var requestResources = map[[2]string]bool{
	{"certificates.k8s.io", "certificatesigningrequests"}: true,
	{"cert-manager.io", "certificaterequests"}:            true,
}

// certificateRequest is input.csr: nil where no policy of the set reads it, or the
// object carries no certificate request. The caller holds e.mu.
func (e *evaluation) certificateRequest(set *PolicySet) *ast.Term {
	if !set.readsRequest || !requestResources[[2]string{e.review.Resource.Group, e.review.Resource.Resource}] {
		return nil
	}
	if e.csr == nil {
		e.csr = parseRequest(e.review.object.value())
	}
	return e.csr
}

func parseRequest(object ast.Object) *ast.Term {
	spec, _ := lookup(object, "spec").(ast.Object)
	encoded, ok := lookup(spec, "request").(ast.String)
	if !ok {
		return nil
	}
	text, err := base64.StdEncoding.DecodeString(string(encoded))
	if err != nil {
		return requestTerm(csr.Unreadable("spec.request is no base64"))
	}
	return requestTerm(csr.Parse(text))
}

func requestTerm(parsed *csr.Request) *ast.Term {
	text, err := json.Marshal(parsed)
	if err != nil {
		return nil
	}
	term, err := decodeJSON(text)
	if err != nil {
		return ast.ObjectTerm(ast.Item(ast.InternedTerm("error"), ast.StringTerm(err.Error())))
	}
	return term
}

// UserInfo is who asks, as an authentication.k8s.io UserInfo in JSON.
func (r *Review) UserInfo() (json.RawMessage, error) {
	info, _ := lookup(r.request(), "userInfo").(ast.Object)
	return encodeObject(info)
}
