package prove

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/lintel-policy/lintel/cmd/lintel/report"
	"github.com/lintel-policy/lintel/policies/openclaw/restriction"
	"github.com/lintel-policy/lintel/policies/openclaw/sidecar"
)

// jsonProof is the worst verdict on a policy, in the output of -o json. Input, parent and
// child are null where there is nothing to show or a side is undefined.
type jsonProof struct {
	restriction.Verdict
	ElapsedMillis float64       `json:"elapsed_ms"`
	Domain        string        `json:"domain"`
	ChildPolicy   string        `json:"child_policy"`
	ChildScope    sidecar.Level `json:"child_scope"`
	ChildLine     int           `json:"child_line,omitempty"`
	ParentPolicy  string        `json:"parent_policy,omitempty"`
	ParentScope   sidecar.Level `json:"parent_scope,omitempty"`
	ParentLine    int           `json:"parent_line,omitempty"`
	Warnings      []string      `json:"warnings,omitempty"`
	// Decisions are the verdicts on each, where several are compared.
	Decisions []jsonDecision `json:"decisions,omitempty"`
}

type jsonDecision struct {
	restriction.Verdict
	ParentPolicy string `json:"parent_policy,omitempty"`
}

func (p *proof) json() jsonProof {
	v := p.verdict()
	out := jsonProof{
		Verdict: v, ElapsedMillis: float64(p.elapsed.Microseconds()) / 1000,
		Domain: p.child.Domain.Name, ChildPolicy: p.child.Name, ChildScope: p.child.Level, ChildLine: v.ChildLine,
		ParentPolicy: v.ParentPolicy, ParentScope: v.ParentLevel, ParentLine: v.ParentLine, Warnings: p.allWarnings(),
	}
	if all := p.all(); len(all) > 1 {
		for _, v := range all {
			out.Decisions = append(out.Decisions, jsonDecision{v, v.ParentPolicy})
		}
	}
	return out
}

// allWarnings has the conflicts that are no more than that.
func (p *proof) allWarnings() []string {
	warnings := slices.Clone(p.warnings)
	for _, c := range p.conflicts {
		if c.Helper && c.Outcome == restriction.Counterexample {
			warnings = append(warnings, fmt.Sprintf("%s of %s and of %s, which are of one scope, differ on input %s: gateways get no answer there",
				c.Decision, p.child.Name, c.ParentPolicy, c.InputText()))
		}
	}
	return warnings
}

// writeProofsJSON writes one object, or a list of them.
func writeProofsJSON(w io.Writer, proofs []*proof, sources []sourceProof, list bool) error {
	if !list {
		return report.WriteJSON(w, proofs[0].json())
	}
	all := []any{}
	for _, p := range proofs {
		all = append(all, p.json())
	}
	for _, s := range sources {
		all = append(all, s.json())
	}
	return report.WriteJSON(w, all)
}

func writeProofs(w io.Writer, proofs []*proof, sources []sourceProof) error {
	var lines []string
	for _, p := range proofs {
		lines = append(lines, p.lines()...)
	}
	for _, s := range sources {
		lines = append(lines, s.text())
	}
	return report.Write(w, strings.Join(lines, "\n")+"\n")
}

// lines are all that is not proved, or that all is, and then what else was compared.
func (p *proof) lines() []string {
	var lines, proved []string
	all := p.all()
	for _, v := range all {
		if v.Outcome == restriction.Proved {
			proved = append(proved, v.Decision)
		} else {
			lines = append(lines, v.Explain(p.child))
		}
	}
	switch {
	case len(lines) == 0 && len(p.parents) == 0:
		lines = append(lines, fmt.Sprintf("domain %q: there is no broader policy than %s", p.child.Domain.Name, p.child.Name))
	case len(lines) == 0:
		lines = append(lines, p.verdict().Explain(p.child))
	}
	if len(proved) > 0 && len(all) > 1 {
		lines = append(lines, "  proved: "+strings.Join(proved, ", "))
	}
	for _, warning := range p.allWarnings() {
		lines = append(lines, "  warning: "+warning)
	}
	return lines
}
