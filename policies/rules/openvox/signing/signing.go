// Package signing decides who gets a certificate from a Puppet CA. It holds no more
// than the rules and what they need to run, because a Puppet server starts a program
// with it for every request.
package signing

import (
	"context"
	_ "embed" // of the rules
	"encoding/json"
	"fmt"
	"slices"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/topdown"

	"github.com/lintel-policy/lintel/policies/csr"
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

// Refusals asks the rules: a request is signed only where there are none.
func Refusals(ctx context.Context, q Question) ([]string, error) {
	q.Policies, q.Reserved = orEmpty(q.Policies), orEmpty(q.Reserved)
	text, err := json.Marshal(q)
	if err != nil {
		return nil, fmt.Errorf("writing the question: %w", err)
	}
	value, err := ast.ValueFromReader(bytesReader(text))
	if err != nil {
		return nil, fmt.Errorf("reading the question: %w", err)
	}
	compiler, err := compiled()
	if err != nil {
		return nil, fmt.Errorf("compiling the signing rules: %w", err)
	}
	body, err := compiler.QueryCompiler().Compile(ast.MustParseBody("result = data.openvox.signing.refusals"))
	if err != nil {
		return nil, fmt.Errorf("compiling the signing rules: %w", err)
	}
	results, err := topdown.NewQuery(body).WithCompiler(compiler).WithInput(ast.NewTerm(value)).WithStrictBuiltinErrors(true).Run(ctx)
	if err != nil {
		return nil, fmt.Errorf("evaluating the signing rules: %w", err)
	}
	if len(results) != 1 {
		return nil, fmt.Errorf("the signing rules have %d answers", len(results))
	}
	refusals, ok := results[0]["result"].Value.(ast.Set)
	if !ok {
		return nil, fmt.Errorf("the signing rules have no set of refusals")
	}
	var words []string
	refusals.Foreach(func(term *ast.Term) {
		word, _ := term.Value.(ast.String)
		words = append(words, string(word))
	})
	slices.Sort(words)
	return words, nil
}
