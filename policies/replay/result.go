package replay

import (
	"time"

	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/engine"
	"github.com/lintel-policy/lintel/policies/record"
)

// Outcome is how the decisions about a request differ.
type Outcome string

// The outcomes, the most important first. A request has the first that applies.
const (
	// NewlyDenied was admitted, and the candidate denies it.
	NewlyDenied Outcome = "newlyDenied"
	// NewlyAdmitted was denied, and the candidate admits it.
	NewlyAdmitted Outcome = "newlyAdmitted"
	// Undecided depends on a value that the record lacks.
	Undecided Outcome = "undecided"
	// PatchChanged results in another object.
	PatchChanged Outcome = "patchChanged"
	// WarningsChanged has other warnings.
	WarningsChanged Outcome = "warningsChanged"
	// Same is the same decision, with the same object and warnings.
	Same Outcome = "same"
)

// AllOutcomes are all, in their order.
var AllOutcomes = []Outcome{NewlyDenied, NewlyAdmitted, Undecided, PatchChanged, WarningsChanged, Same}

// Result is the result for one request.
type Result struct {
	Outcome Outcome `json:"outcome"`
	Subject
	// Before and After are the findings that one decision has and the other lacks. After are those
	// of the candidate.
	Before Findings `json:"before,omitzero"`
	After  Findings `json:"after,omitzero"`
	// Undecided are the policies that depend on a value that the record lacks. The outcome is
	// another one if their results do not matter.
	Undecided []engine.Undecided `json:"undecided,omitempty"`
	// PatchBefore and PatchAfter are JSON Patches, for PatchChanged.
	PatchBefore any `json:"patchBefore,omitempty"`
	PatchAfter  any `json:"patchAfter,omitempty"`
	// StepsBefore and StepsAfter are the evaluated statements; before only with a baseline.
	StepsBefore int64 `json:"stepsBefore,omitempty"`
	StepsAfter  int64 `json:"stepsAfter,omitempty"`
	// Warns reports that the candidate has a warning that the other decision lacks.
	Warns bool `json:"newWarnings,omitempty"`
	// Request is that of the evaluated records, for reproductions.
	Request *Request `json:"-"`
}

// Findings are denials and warnings.
type Findings struct {
	Denials  []record.Finding `json:"denials,omitempty"`
	Warnings []record.Finding `json:"warnings,omitempty"`
}

// Subject describes a request.
type Subject struct {
	UID         string                     `json:"uid"`
	Time        time.Time                  `json:"time"`
	Operation   string                     `json:"operation"`
	Kind        admission.GroupVersionKind `json:"kind"`
	SubResource string                     `json:"subResource,omitempty"`
	Namespace   string                     `json:"namespace,omitempty"`
	Name        string                     `json:"name,omitempty"`
	User        string                     `json:"user"`
	// Workload is the controller of the object, such as Deployment/web, or the object itself.
	Workload string `json:"workload"`
}

// Title is such as "CREATE Pod shop/web".
func (s Subject) Title() string {
	title := s.Operation + " " + s.Kind.String()
	if s.SubResource != "" {
		title += "/" + s.SubResource
	}
	switch {
	case s.Namespace != "" && s.Kind.Kind != "Namespace":
		title += " " + s.Namespace + "/" + s.Name
	case s.Name != "":
		title += " " + s.Name
	}
	return title
}
