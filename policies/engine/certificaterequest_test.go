package engine

import (
	"encoding/base64"
	"fmt"
	"testing"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/stretchr/testify/require"

	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/csr/csrtest"
)

func requestReview(t *testing.T, kind, request string) *admission.Review {
	t.Helper()
	name := map[string][3]string{
		"CertificateSigningRequest": {"certificates.k8s.io", "v1", "certificatesigningrequests"},
		"CertificateRequest":        {"cert-manager.io", "v1", "certificaterequests"},
		"ConfigMap":                 {"", "v1", "configmaps"},
	}[kind]
	review, err := admission.NewReview(fmt.Appendf(nil, `{"uid":"1","operation":"CREATE","name":"r",
		"kind":{"group":%[1]q,"version":%[2]q,"kind":%[3]q},"resource":{"group":%[1]q,"version":%[2]q,"resource":%[4]q},
		"object":{"metadata":{"name":"r"},"spec":{"request":%[5]s}}}`, name[0], name[1], kind, name[2], request))
	require.NoError(t, err)
	return review
}

// TestPoliciesReadCertificateRequests: every policy receives the parsed request, for any
// signer.
func TestPoliciesReadCertificateRequests(t *testing.T) {
	pem := csrtest.Template{CommonName: "web1", DNSNames: []string{"www"}}.Make(t)
	encoded := fmt.Sprintf("%q", base64.StdEncoding.EncodeToString(pem))
	set := compile(t, `package p
deny contains sprintf("%v %v %v", [input.csr.subject.commonName, input.csr.dnsNames, input.csr.publicKey.type]) if input.csr.signatureValid
deny contains input.csr.error
deny contains "none" if not input.csr`)
	for _, c := range []struct{ kind, request, want string }{
		{"CertificateSigningRequest", encoded, `web1 ["www"] ECDSA`},
		{"CertificateRequest", encoded, `web1 ["www"] ECDSA`},
		{"CertificateSigningRequest", `"!"`, "spec.request: must be base64"},
		{"CertificateSigningRequest", `"Z2FyYmFnZQ=="`, "it does not begin with a PEM block"},
		{"CertificateSigningRequest", `null`, "none"},
		{"CertificateSigningRequest", `{"a":1}`, "none"},
		{"ConfigMap", encoded, "none"},
	} {
		decision := snapshotOf(set).Validate(t.Context(), requestReview(t, c.kind, c.request), Options{})
		require.Len(t, decision.Denials, 1, "%s %s", c.kind, c.request)
		require.Equal(t, c.want, decision.Denials[0].Words)
	}
}

// TestRequestsThatNobodyReadsAreNotParsed: a request costs nothing where no policy asks.
func TestRequestsThatNobodyReadsAreNotParsed(t *testing.T) {
	review := requestReview(t, "CertificateSigningRequest", `"Z2FyYmFnZQ=="`)
	for text, reads := range map[string]bool{
		`package p
deny contains "x" if input.name == "a"`: false,
		`package p
deny contains "x" if input.csr.isCA`: true,
		`package p
deny contains "x" if object.get(input, "csr", null)`: true,
	} {
		set := compile(t, text)
		e := newEvaluation(review, Options{})
		input := e.input(sourceOf(set))
		require.Equal(t, reads, e.csr != nil, text)
		require.Equal(t, reads, input.Get(ast.StringTerm("csr")) != nil, text)
	}
}
