package openvox

import (
	"context"
	"errors"

	"github.com/lintel-policy/lintel/controllers/openvox/puppet"
	"github.com/lintel-policy/lintel/policies/csr"
	"github.com/lintel-policy/lintel/policies/rules/openvox/signing"
)

// verdict is the decision of the signing policies about a request, by the rules and the file of the
// CA's autosign hook, which decides the same.
type verdict string

const (
	permitted verdict = "permitted"
	refused   verdict = "refused"
	// unknown is of requests that could not be evaluated.
	unknown verdict = "unknown"
)

// evaluate evaluates a request in PEM. reasons are those of a refusal, or why the verdict is
// unknown.
func evaluate(ctx context.Context, certname string, request []byte, rendered signing.Rendered, policyErr error) (verdict, []string) {
	if policyErr != nil {
		return unknown, []string{policyErr.Error()}
	}
	refusals, err := signing.Refusals(ctx, signing.Question{Certname: certname, CSR: csr.Parse(request), Rendered: rendered})
	switch {
	case err != nil:
		return unknown, []string{err.Error()}
	case len(refusals) > 0:
		return refused, refusals
	}
	return permitted, nil
}

// evaluatePending evaluates the request that waits at the CA for a certname. gone is true if none
// waits any longer.
func (s *session) evaluatePending(ctx context.Context, certname string, rendered signing.Rendered, policyErr error) (v verdict, reasons []string, gone bool) {
	text, err := s.admin.RequestText(ctx, certname)
	if err != nil {
		return unknown, []string{err.Error()}, errors.Is(err, puppet.ErrNotFound)
	}
	v, reasons = evaluate(ctx, certname, text, rendered, policyErr)
	return v, reasons, false
}
