// Package signing decides which nodes get a certificate from a Puppet CA. It contains only the
// rules and their runtime, because a Puppet server starts a program with it for every request.
package signing

import (
	"bytes"
	"context"
	_ "embed" // of the rules
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/lintel-policy/lintel/policies/csr"
	"github.com/lintel-policy/lintel/policies/eval"
)

// Rules is the text of the rules, package openvox.signing.
//
//go:embed signing.rego
var Rules string

// Question is a request for a certificate, and what decides about it.
type Question struct {
	Certname string       `json:"certname"`
	CSR      *csr.Request `json:"csr"`
	Rendered
}

// Refusals evaluates the rules: a request is signed only where there are none.
func Refusals(ctx context.Context, q Question) ([]string, error) {
	q.Policies, q.Reserved = orEmpty(q.Policies), orEmpty(q.Reserved)
	text, err := json.Marshal(q)
	if err != nil {
		return nil, fmt.Errorf("writing the question: %w", err)
	}
	value, err := ast.ValueFromReader(bytes.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("reading the question: %w", err)
	}
	refusals, _, err := evaluate(ctx, ast.NewTerm(value))
	if err != nil {
		return nil, err
	}
	var words []string
	refusals.Foreach(func(term *ast.Term) {
		word, _ := term.Value.(ast.String)
		words = append(words, string(word))
	})
	slices.Sort(words)
	return words, nil
}

// evaluate evaluates the rules for a Question.
func evaluate(ctx context.Context, question *ast.Term) (refusals ast.Set, report eval.Report, err error) {
	program, err := program()
	if err != nil {
		return nil, report, fmt.Errorf("reading the plan of the signing rules: %w", err)
	}
	answers, report, err := program.Run(ctx, []*eval.Rule{program.Rule(answer)}, eval.Options{Input: question, Strict: true})
	if err != nil {
		return nil, report, fmt.Errorf("evaluating the signing rules: %w", err)
	}
	if answers[0] != nil {
		refusals, _ = answers[0].Value.(ast.Set)
	}
	if refusals == nil {
		return nil, report, errors.New("the signing rules have no set of refusals")
	}
	return refusals, report, nil
}

var answer = ast.MustParseRef("data.openvox.signing.refusals")

// program is decoded once per process, from the plan that make generate writes.
var program = sync.OnceValues(func() (*eval.Program, error) {
	return eval.Compile(planned, eval.StandardFunctions, eval.CompileOptions{})
})
