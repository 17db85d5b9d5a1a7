package main

import (
	"io"

	"github.com/lintel-policy/lintel/policies/engine"
	"github.com/lintel-policy/lintel/policies/jsonpatch"
)

// jsonReport is the output of -o json. Its lists are never null.
type jsonReport struct {
	Results []jsonResult `json:"results"`
	Summary summary      `json:"summary"`
}

type jsonResult struct {
	Object    jsonObject            `json:"object"`
	Allowed   bool                  `json:"allowed"`
	Deny      []jsonFinding         `json:"deny"`
	Warn      []jsonFinding         `json:"warn"`
	Patch     []jsonpatch.Operation `json:"patch"`
	Undecided []engine.Undecided    `json:"undecided"`
	// As is the apiVersion to which the API server converts the object for the policies,
	// where it is another.
	As string `json:"as,omitempty"`
}

type jsonObject struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Namespace  string `json:"namespace"`
	Name       string `json:"name"`
}

// jsonFinding has a message alone where the API server itself refuses the object.
type jsonFinding struct {
	Msg      string `json:"msg"`
	Policy   string `json:"policy"`
	Rule     string `json:"rule"`
	Location string `json:"location"`
}

func writeJSON(w io.Writer, outcomes []outcome) error {
	report := jsonReport{Results: []jsonResult{}, Summary: summarise(outcomes)}
	for _, out := range outcomes {
		report.Results = append(report.Results, jsonResult{
			Object:    jsonObjectOf(out.object),
			Allowed:   len(out.denials) == 0,
			Deny:      jsonFindings(out.denials, denialText),
			Warn:      jsonFindings(out.warnings, engine.Finding.WarningText),
			Patch:     append([]jsonpatch.Operation{}, out.patch...),
			Undecided: append([]engine.Undecided{}, out.undecided...),
			As:        out.as,
		})
	}
	return writeIndented(w, report)
}

func jsonObjectOf(o object) jsonObject {
	return jsonObject{
		APIVersion: o.kind.GroupVersion().String(),
		Kind:       o.kind.Kind,
		Namespace:  o.namespace,
		Name:       o.displayName(),
	}
}

func jsonFindings(findings []engine.Finding, text func(engine.Finding) string) []jsonFinding {
	out := []jsonFinding{}
	for _, f := range findings {
		one := jsonFinding{Msg: text(f), Policy: f.Policy, Rule: f.Rule}
		if f.Policy != "" {
			one.Location = f.Location.String()
		}
		out = append(out, one)
	}
	return out
}
