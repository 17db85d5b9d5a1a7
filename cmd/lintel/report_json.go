package main

import (
	"io"

	"github.com/lintel-policy/lintel/policies/engine"
)

// jsonReport is the output of -o json. Its lists are never null.
type jsonReport struct {
	Results []jsonResult `json:"results"`
	Summary summary      `json:"summary"`
}

type jsonResult struct {
	Object    jsonObject         `json:"object"`
	Allowed   bool               `json:"allowed"`
	Deny      []jsonFinding      `json:"deny"`
	Warn      []jsonFinding      `json:"warn"`
	Patch     []engine.Operation `json:"patch"`
	Undecided []engine.Undecided `json:"undecided"`
}

type jsonObject struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Namespace  string `json:"namespace"`
	Name       string `json:"name"`
}

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
			Patch:     append([]engine.Operation{}, out.patch...),
			Undecided: append([]engine.Undecided{}, out.undecided...),
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
		out = append(out, jsonFinding{text(f), f.Policy, f.Rule, f.Location.String()})
	}
	return out
}
