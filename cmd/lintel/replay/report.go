package replay

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/lintel-policy/lintel/cmd/lintel/report"
	"github.com/lintel-policy/lintel/cmd/lintel/sources"
	"github.com/lintel-policy/lintel/policies/engine"
	"github.com/lintel-policy/lintel/policies/record"
	core "github.com/lintel-policy/lintel/policies/replay"
)

// reportVersion is the apiVersion of the JSON reports.
const reportVersion = "lintel.dev/replay-report/v1"

// Report is the output of `lintel replay -o json`. Its lists are never null.
type Report struct {
	APIVersion string    `json:"apiVersion"`
	Since      time.Time `json:"since"`
	Until      time.Time `json:"until"`
	Candidate  Policies  `json:"candidate"`
	Baseline   *Policies `json:"baseline,omitempty"`
	Summary    Summary   `json:"summary"`
	// Policies, Namespaces, Users and Workloads have those with the most newly denied requests first.
	// The name of a policy is source/policy.
	Policies   []core.Group `json:"policies"`
	Namespaces []core.Group `json:"namespaces"`
	Users      []core.Group `json:"users"`
	Workloads  []core.Group `json:"workloads"`
	// Examples are the first results of each policy and outcome.
	Examples  []*core.Result `json:"examples"`
	Undecided []core.Reason  `json:"undecided"`
	Skipped   []core.Reason  `json:"skipped"`

	notes    []string
	options  options
	infos    []engine.PolicyInfo
	sources  map[string]sources.Source
	baseline bool
}

// Policies are the policies of one side.
type Policies struct {
	Sources  []string `json:"sources"`
	Digest   string   `json:"digest"`
	Policies int      `json:"policies"`
}

// Summary counts requests.
type Summary struct {
	Records  int64 `json:"records"`
	Requests int64 `json:"requests"`
	// Evaluated is the number of different requests: a record can stand for several.
	Evaluated int64 `json:"evaluated"`
	Same      int64 `json:"same"`
	core.Counts
	NewWarnings int64 `json:"newWarnings"`
	// Skipped is the number of records that could not be read.
	Skipped int64 `json:"skipped"`
	// StepsBefore and StepsAfter are the statements that policies evaluated; before only with a
	// baseline.
	StepsBefore int64 `json:"stepsBefore,omitempty"`
	StepsAfter  int64 `json:"stepsAfter"`
}

func newReport(o options, candidate, baseline *side, state *checkpoint) *Report {
	t := state.Tally
	r := &Report{
		APIVersion: reportVersion, Since: state.Since.UTC(), Until: state.Until.UTC(), Candidate: candidate.describe(),
		Summary: Summary{
			Records: t.Records, Requests: t.Requests, Evaluated: t.Evaluated, Same: t.Same, Counts: t.Counts, NewWarnings: t.NewWarnings,
			StepsBefore: t.StepsBefore, StepsAfter: t.StepsAfter,
		},
		Policies: core.Sorted(t.Policies), Namespaces: core.Sorted(t.Namespaces), Users: core.Sorted(t.Users), Workloads: core.Sorted(t.Workloads),
		Examples: t.Examples, Undecided: t.UndecidedReasons, Skipped: t.Skipped,
		options: o, infos: candidate.snapshot.Policies(), sources: map[string]sources.Source{}, baseline: baseline != nil,
	}
	if baseline != nil {
		described := baseline.describe()
		r.Baseline = &described
	}
	for _, one := range t.Skipped {
		r.Summary.Skipped += one.Requests
	}
	for _, s := range candidate.sources {
		r.sources[s.Name] = s
	}
	if baseline == nil && t.Replaced == 0 && t.OtherSources > 0 {
		r.notes = append(r.notes, fmt.Sprintf("no recorded finding is of %s, so the candidate is compared as additional policies: if it replaces a source, give the name of that with --name", strings.Join(r.Candidate.Sources, ", ")))
	}
	return r
}

func (s *side) describe() Policies {
	p := Policies{Sources: []string{}, Digest: s.snapshot.Digest(), Policies: len(s.snapshot.Policies())}
	for _, one := range s.sources {
		p.Sources = append(p.Sources, one.Name)
	}
	return p
}

func (r *Report) write(to io.Writer, format string) error {
	switch format {
	case "json":
		return report.WriteJSON(to, r)
	case "markdown":
		return report.Write(to, r.markdown())
	case "sarif":
		return r.writeSARIF(to)
	case "junit":
		return r.writeJUnit(to)
	default:
		return report.Write(to, r.text())
	}
}

// exit is the exit code: nil if there is no more than permitted.
func (r *Report) exit() error {
	unknown := r.Summary.Undecided + r.Summary.Skipped
	switch {
	case r.Summary.NewlyDenied > r.options.maxDenials:
		return report.Denied
	case r.options.maxWarnings >= 0 && r.Summary.NewWarnings > r.options.maxWarnings:
		return report.Denied
	case r.options.maxUndecided >= 0 && unknown > r.options.maxUndecided:
		return report.Error
	}
	return nil
}

// place is the file and line of a finding of the candidate, as a user can open it.
func (r *Report) place(f record.Finding) report.Place {
	for _, info := range r.infos {
		if info.Source != f.Source || info.Package != f.Policy {
			continue
		}
		at := info.Location
		if file, line, ok := strings.Cut(f.Location, ":"); ok {
			if n, err := fmt.Sscanf(line, "%d", &at.Line); n == 1 && err == nil {
				at.File = file
			}
		}
		file, line := r.sources[f.Source].Place(at)
		return report.Place{File: file, Line: line}
	}
	return report.Place{}
}

// outcomeTitles are the words for outcomes.
var outcomeTitles = map[core.Outcome]string{
	core.NewlyDenied: "newly denied", core.NewlyAdmitted: "newly admitted", core.Undecided: "undecided",
	core.PatchChanged: "other patch", core.WarningsChanged: "other warnings",
}

// changes are the outcomes with a column of their own.
var changes = core.AllOutcomes[:len(core.AllOutcomes)-1]

// findings are those that make the difference, with their labels.
func findings(r *core.Result) (labels []string, all []record.Finding) {
	add := func(label string, found []record.Finding) {
		for _, f := range found {
			labels, all = append(labels, label), append(all, f)
		}
	}
	switch r.Outcome {
	case core.NewlyDenied:
		add("denies", r.After.Denials)
	case core.NewlyAdmitted:
		add("denied", r.Before.Denials)
	case core.WarningsChanged:
		add("warns", r.After.Warnings)
		add("warned", r.Before.Warnings)
	}
	return labels, all
}

// cost is the change of the evaluated statements: empty without a baseline.
func (r *Report) cost() string {
	s := r.Summary
	if !r.baseline || s.Requests == 0 {
		return ""
	}
	return fmt.Sprintf("%d steps per request before, %d after", s.StepsBefore/s.Requests, s.StepsAfter/s.Requests)
}
