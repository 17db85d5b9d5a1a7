package main

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/lintel-policy/lintel/policies/scope"
)

// jsonProof is a verdict in the output of -o json. input, parent and child are null
// where there is nothing to show or a side is undefined.
type jsonProof struct {
	Verdict        scope.Outcome `json:"verdict"`
	Decision       string        `json:"decision"`
	Input          any           `json:"input"`
	InputUndefined bool          `json:"input_undefined,omitempty"`
	Parent         any           `json:"parent"`
	Child          any           `json:"child"`
	Reason         string        `json:"reason"`
	ElapsedMillis  float64       `json:"elapsed_ms"`
	Domain         string        `json:"domain"`
	ChildPolicy    string        `json:"child_policy"`
	ChildScope     scope.Level   `json:"child_scope"`
	ChildLine      int           `json:"child_line,omitempty"`
	ParentPolicy   string        `json:"parent_policy,omitempty"`
	ParentScope    scope.Level   `json:"parent_scope,omitempty"`
	ParentLine     int           `json:"parent_line,omitempty"`
	Warnings       []string      `json:"warnings,omitempty"`
}

func (p *proof) json() jsonProof {
	v := p.verdict
	return jsonProof{
		Verdict: v.Outcome, Decision: v.Decision, Input: v.Input, InputUndefined: v.InputUndefined,
		Parent: v.Parent, Child: v.Child, Reason: v.Reason, ElapsedMillis: float64(v.Elapsed.Microseconds()) / 1000,
		Domain: p.child.Domain.Name, ChildPolicy: p.child.Name, ChildScope: p.child.Level, ChildLine: v.ChildLine,
		ParentPolicy: v.ParentPolicy, ParentScope: v.ParentLevel, ParentLine: v.ParentLine, Warnings: p.warnings,
	}
}

// writeProofsJSON writes one object, or a list of them.
func writeProofsJSON(w io.Writer, proofs []*proof, list bool) error {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false) // it is read by people, too
	encoder.SetIndent("", "  ")
	if !list {
		return encoder.Encode(proofs[0].json())
	}
	all := []jsonProof{}
	for _, p := range proofs {
		all = append(all, p.json())
	}
	return encoder.Encode(all)
}

func writeProofs(w io.Writer, proofs []*proof) error {
	for _, p := range proofs {
		text := p.verdict.Explain(p.child)
		if len(p.parents) == 0 {
			text = fmt.Sprintf("domain %q: there is no broader policy than %s", p.child.Domain.Name, p.child.Name)
		}
		if _, err := fmt.Fprintln(w, text); err != nil {
			return err
		}
		for _, warning := range p.warnings {
			if _, err := fmt.Fprintln(w, "  warning: "+warning); err != nil {
				return err
			}
		}
	}
	return nil
}
