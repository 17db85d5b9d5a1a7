package prove

import (
	"fmt"
	"slices"

	"github.com/lintel-policy/lintel/cmd/lintel/sources"
	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/openclaw/restriction"
	"github.com/lintel-policy/lintel/policies/scope"
)

// sourceProof says whether the admission policies of a source keep within its scope.
type sourceProof struct {
	name       string
	scope      string
	violations []scope.Violation
}

// proveSources are those of all sources, each together with all others.
func proveSources(read []sources.Source) ([]sourceProof, error) {
	origins := map[string]string{}
	for _, s := range read {
		if other, twice := origins[s.Name]; twice {
			return nil, fmt.Errorf("%s and %s have one name: give each its own", other, s.Origin)
		}
		origins[s.Name] = s.Origin
	}
	sets, err := sources.CompileAll(read)
	if err != nil {
		return nil, err
	}
	resources := admission.BuiltinResources()
	var proofs []sourceProof
	for i, set := range sets {
		proofs = append(proofs, sourceProof{
			set.Source().Name, set.Source().Scope.Key().String(),
			scope.Check(set, nil, slices.Concat(sets[:i], sets[i+1:]), resources),
		})
	}
	return proofs, nil
}

// text is the lines for a person.
func (s sourceProof) text() string {
	if len(s.violations) == 0 {
		return fmt.Sprintf("source %q: keeps within its scope, %s: it denies more, and loosens nothing", s.name, s.scope)
	}
	text := fmt.Sprintf("source %q: reaches beyond its scope, %s", s.name, s.scope)
	if s.violations[0].Reason == scope.ReasonPackageConflict {
		text = fmt.Sprintf("source %q: has a package that another source has, too", s.name)
	}
	for _, v := range s.violations {
		text += fmt.Sprintf("\n  %s: %s", v.Reason, v.Error())
	}
	return text
}

// jsonSource is a source in the output of -o json.
type jsonSource struct {
	Verdict restriction.Outcome `json:"verdict"`
	Source  string              `json:"source"`
	Scope   string              `json:"scope"`
	Reasons []jsonViolation     `json:"reasons,omitempty"`
}

type jsonViolation struct {
	Reason   string `json:"reason"`
	Message  string `json:"message"`
	Location string `json:"location,omitempty"`
}

func (s sourceProof) json() jsonSource {
	out := jsonSource{Verdict: restriction.Proved, Source: s.name, Scope: s.scope}
	for _, v := range s.violations {
		out.Verdict = restriction.Counterexample
		violation := jsonViolation{Reason: v.Reason, Message: v.Message}
		if v.File != "" {
			violation.Location = definition.Location{File: v.File, Line: v.Line}.String()
		}
		out.Reasons = append(out.Reasons, violation)
	}
	return out
}
