package replay

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"

	"github.com/lintel-policy/lintel/policies/engine"
	"github.com/lintel-policy/lintel/policies/jsonpatch"
	"github.com/lintel-policy/lintel/policies/record"
)

// compare sets the outcome. others are the findings that neither side replaces.
func (r *Result) compare(before, after *decision, others Findings, in *input) {
	r.StepsBefore, r.StepsAfter = before.steps, after.steps
	r.Undecided = distinct(append(before.undecided, after.undecided...))
	r.Before.Denials, r.After.Denials = difference(before.Denials, after.Denials)
	r.Before.Warnings, r.After.Warnings = difference(before.Warnings, after.Warnings)
	denied := func(d *decision) bool { return len(d.Denials)+len(others.Denials) > 0 }
	// An undecided policy can add a denial, and remove none.
	known := func(d *decision) bool { return denied(d) || len(d.undecided) == 0 }
	differs := after.hasPatch && before.hasPatch && r.comparePatches(before, after, in)
	switch {
	case known(before) && known(after) && !denied(before) && denied(after):
		r.Outcome = NewlyDenied
	case known(before) && known(after) && denied(before) && !denied(after):
		r.Outcome = NewlyAdmitted
	case !known(before), !known(after), !denied(after) && len(r.Undecided) > 0:
		r.Outcome = Undecided
	case differs:
		r.Outcome = PatchChanged
	case len(r.Before.Warnings)+len(r.After.Warnings) > 0 && !denied(after):
		r.Outcome = WarningsChanged
	default:
		r.Outcome = Same
	}
	r.Warns = !denied(after) && len(r.After.Warnings) > 0
}

// difference are the findings that one side has and the other lacks. Revisions and locations
// differ between revisions of a source, and are not compared.
func difference(before, after []record.Finding) (gone, added []record.Finding) {
	missingIn := func(findings []record.Finding) func(record.Finding) bool {
		return func(f record.Finding) bool {
			return !slices.ContainsFunc(findings, func(other record.Finding) bool { return identity(f) == identity(other) })
		}
	}
	return filtered(before, missingIn(after)), filtered(after, missingIn(before))
}

func filtered(findings []record.Finding, keep func(record.Finding) bool) (kept []record.Finding) {
	for _, finding := range findings {
		if keep(finding) {
			kept = append(kept, finding)
		}
	}
	return kept
}

func identity(f record.Finding) [5]string {
	return [5]string{f.Source, f.Policy, f.Rule, f.Field, f.Msg}
}

func distinct(all []engine.Undecided) (found []engine.Undecided) {
	for _, one := range all {
		if !slices.Contains(found, one) {
			found = append(found, one)
		}
	}
	return found
}

// comparePatches reports whether the patches result in different objects.
func (r *Result) comparePatches(before, after *decision, in *input) bool {
	if len(before.patch)+len(after.patch) == 0 || in.mutation == nil {
		return false
	}
	first, errBefore := patched(in, before.patch)
	second, errAfter := patched(in, after.patch)
	if errBefore == nil && errAfter == nil && reflect.DeepEqual(first, second) {
		return false
	}
	r.PatchBefore, r.PatchAfter = before.patch, after.patch
	return true
}

// patched is the object after a patch.
func patched(in *input, patch []any) (any, error) {
	object, err := in.object()
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(patch)
	if err != nil {
		return nil, err
	}
	var operations []any
	if err := decodeNumbers(text, &operations); err != nil {
		return nil, err
	}
	document := &jsonpatch.Document{Root: object}
	for _, operation := range operations {
		step, err := jsonpatch.ReadStep(operation)
		if err != nil {
			return nil, err
		}
		if err := document.Apply(step); err != nil {
			return nil, err
		}
	}
	return document.Root, nil
}

// decodeNumbers decodes JSON with numbers as they are written.
func decodeNumbers(text []byte, into any) error {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	return decoder.Decode(into)
}
