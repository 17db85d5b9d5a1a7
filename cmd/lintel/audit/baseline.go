package audit

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	core "github.com/lintel-policy/lintel/policies/audit"
)

// readReport reads a report of an earlier run. It must be complete: a truncated one would have
// fewer violations than there were.
func readReport(path string) (*Report, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("reading a report: %w", err)
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	r := &Report{}
	if err := decoder.Decode(r); err != nil {
		return nil, fmt.Errorf("%s is not a report of `lintel audit -o json`: %w", path, err)
	}
	if r.APIVersion != reportVersion {
		return nil, fmt.Errorf("%s is not a report of `lintel audit -o json`: apiVersion is %q, not %q", path, r.APIVersion, reportVersion)
	}
	violations := 0
	for _, result := range r.Results {
		if result.Key == "" {
			return nil, fmt.Errorf("%s: a result about %s has no key", path, result.Object.Title())
		}
		if result.isViolation() {
			violations++
		}
	}
	if violations != r.Summary.Violations {
		return nil, fmt.Errorf("%s has %d of %d violations: it was edited or cut off", path, violations, r.Summary.Violations)
	}
	return r, nil
}

// keys are those of the violations.
func (r *Report) keys() map[string]bool {
	keys := map[string]bool{}
	for _, result := range r.Results {
		if result.isViolation() {
			keys[result.Key] = true
		}
	}
	return keys
}

// exempt are the keys of what exceptions exempt.
func (r *Report) exempt() map[string]bool {
	keys := map[string]bool{}
	for _, result := range r.Results {
		if result.Result.Outcome == core.Skip {
			keys[result.Key] = true
		}
	}
	return keys
}

// markNew marks the violations that a baseline does not have.
func (r *Report) markNew(baseline *Report) {
	known, count := baseline.keys(), 0
	for i := range r.Results {
		if one := &r.Results[i]; one.isViolation() && !known[one.Key] {
			one.New = true
			count++
		}
	}
	r.Summary.New = &count
}

// Diff is the difference between the violations of two runs, and the output of
// `lintel audit diff -o json`. Its lists are never null.
type Diff struct {
	New   []Result `json:"new"`
	Fixed []Result `json:"fixed"`
	// Exempt are violations of the first run that an exception exempts in the second.
	Exempt []Result `json:"exempt"`
	// Unknown are violations of the first run that the second one did not evaluate: the kind or
	// the policy is not in it, or could not be audited.
	Unknown   []Result `json:"unknown"`
	Unchanged int      `json:"unchanged"`
}

// diffReports compares two runs.
func diffReports(before, after *Report) Diff {
	d := Diff{New: []Result{}, Fixed: []Result{}, Exempt: []Result{}, Unknown: []Result{}}
	old, now, exempt := before.keys(), after.keys(), after.exempt()
	for _, result := range after.Results {
		switch {
		case !result.isViolation():
		case old[result.Key]:
			d.Unchanged++
		default:
			d.New = append(d.New, result)
		}
	}
	for _, result := range before.Results {
		switch {
		case !result.isViolation() || now[result.Key]:
		case exempt[result.Key]:
			d.Exempt = append(d.Exempt, result)
		case after.covers(result):
			d.Fixed = append(d.Fixed, result)
		default:
			d.Unknown = append(d.Unknown, result)
		}
	}
	for _, list := range [][]Result{d.New, d.Fixed, d.Exempt, d.Unknown} {
		slices.SortFunc(list, compareResults)
	}
	return d
}

// covers reports whether the run evaluated the policy of a violation of another run for all
// objects of its kind.
func (r *Report) covers(violation Result) bool {
	isOf := func(policy string) bool { return policy == "" || policy == violation.Result.Policy }
	kind := schema.FromAPIVersionAndKind(violation.Object.APIVersion, violation.Object.Kind).GroupKind()
	return slices.ContainsFunc(r.Policies, func(p PolicyCount) bool { return p.Policy == violation.Result.Policy && p.Counts["error"] == 0 }) &&
		!slices.ContainsFunc(r.Undecided, func(u Undecided) bool { return isOf(u.Policy) }) &&
		!slices.ContainsFunc(r.NotAuditable, func(n NotAuditable) bool { return n.Policy == violation.Result.Policy && n.Rule == "" }) &&
		!slices.ContainsFunc(r.NotAudited, func(n NotAudited) bool {
			return n.Resource == "" && n.Group == "" || n.Group == kind.Group && (n.Kind == "" || n.Kind == kind.Kind)
		})
}
