package review

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/lintel-policy/lintel/cmd/lintel/manifests"
	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/engine"
	"github.com/lintel-policy/lintel/policies/jsonpatch"
	"github.com/lintel-policy/lintel/policies/kinds"
	"github.com/lintel-policy/lintel/policies/rules"
)

// outcome is what the policies say about one object.
type outcome struct {
	object    manifests.Object
	denials   []engine.Finding
	warnings  []engine.Finding
	exempted  []engine.Finding
	undecided []engine.Undecided
	patch     []jsonpatch.Operation
	// as is the apiVersion in which the policies see the object, where it is another.
	as string
	// request describes the request; empty if only its operation differs from a creation.
	request string
	// refused reports that the API server itself refuses the mutated object, and calls no
	// validating webhook; validated reports that it calls them.
	refused, validated bool
	// review has the object as it has become.
	review *admission.Review
	// policies is what became of each policy, where that was asked for.
	policies []engine.Explanation
}

// decide asks in the order of the webhooks: mutation, then validation of the object
// as it has become. A mutation that is denied ends it, as the API server ends the
// request; and so does what the API server itself, by validate, finds wrong between the
// two, where it looks: validate may be nil. decode is what the API server does with each patched
// object.
func decide(ctx context.Context, snapshot *engine.Snapshot, o manifests.Object, review *admission.Review, options engine.Options, decode, validate func(*admission.Review) error) (outcome, error) {
	out := outcome{object: o}
	var err error
	if out.review, err = out.mutate(ctx, snapshot, review, options, decode); err != nil || len(out.denials) > 0 {
		return out, err
	}
	validated := out.validatedReview()
	if validate != nil {
		if err := out.take(validate(validated)); err != nil || len(out.denials) > 0 {
			out.refused = err == nil
			return out, err
		}
	}
	out.add(snapshot.Validate(ctx, validated, options))
	out.validated = true
	return out, nil
}

// validatedReview is the review that validating webhooks receive: an API server generates the name
// after the mutating ones. A recorded request stays as it is.
func (out *outcome) validatedReview() *admission.Review {
	if out.object.Request != nil {
		return out.review
	}
	return out.review.WithGeneratedName()
}

// take makes an error of what the API server does with the object the verdict, where it is
// one: that it refuses the object, or that this is not known.
func (out *outcome) take(err error) error {
	refused, isRefusal := errors.AsType[*kinds.Refusal](err)
	switch {
	case isRefusal:
		out.denials = []engine.Finding{{Words: refused.Error()}}
	case errors.Is(err, kinds.ErrNotKnown):
		out.cannotSay(err.Error())
	case err != nil:
		return fmt.Errorf("%s: %w", out.object.Origin, err)
	}
	return nil
}

// cannotSay is the verdict where it is not known whether the API server refuses the object,
// or what the policies would be asked about.
func (out *outcome) cannotSay(reason string) {
	out.undecided = []engine.Undecided{{Reason: reason}}
}

// mutate applies the policies of the API server itself, and then asks the sources with Ignore and
// those with Fail. After a change by the API server's policies, or by sources with Fail, all are
// asked once more, as reinvocationPolicy IfNeeded has it.
func (out *outcome) mutate(ctx context.Context, snapshot *engine.Snapshot, review *admission.Review, options engine.Options, decode func(*admission.Review) error) (*admission.Review, error) {
	passes := &engine.ServerPasses{}
	for range 2 {
		options.FailurePolicy = ""
		mutation := snapshot.MutateByServer(ctx, review, options, passes)
		if ends, err := out.accept(mutation, decode); ends || err != nil {
			return review, err
		}
		review = mutation.Review
		for _, policy := range []definition.FailurePolicy{definition.Ignore, definition.Fail} {
			options.FailurePolicy = policy
			mutation = snapshot.Mutate(ctx, review, options)
			if ends, err := out.accept(mutation, decode); ends || err != nil {
				return review, err
			}
			review = mutation.Review
		}
		if len(mutation.Patch) == 0 && !passes.NeedsAnother() { // by Fail, which comes last
			break
		}
	}
	return review, nil
}

// accept adds a mutation, and does what the API server does with the patched object. ends reports
// that the request is denied.
func (out *outcome) accept(mutation *engine.Mutation, decode func(*admission.Review) error) (ends bool, err error) {
	out.add(&mutation.Decision)
	if !mutation.Allowed() {
		out.patch = nil
		return true, nil
	}
	if len(mutation.Patch) > 0 {
		if err := out.take(decode(mutation.Review)); err != nil || len(out.denials) > 0 {
			out.patch, out.refused = nil, err == nil
			return true, err
		}
	}
	out.patch = append(out.patch, mutation.Patch...)
	return false, nil
}

// add adds the new findings of a decision.
func (out *outcome) add(decision *engine.Decision) {
	out.denials = addFindings(out.denials, decision.Denials)
	out.warnings = addFindings(out.warnings, decision.Warnings)
	out.exempted = addFindings(out.exempted, decision.Exempted)
	for _, undecided := range decision.Undecided {
		if !slices.Contains(out.undecided, undecided) {
			out.undecided = append(out.undecided, undecided)
		}
	}
}

func addFindings(to, from []engine.Finding) []engine.Finding {
	said := map[string]bool{}
	for _, finding := range to {
		said[finding.Text()] = true
	}
	for _, finding := range from {
		if text := finding.Text(); !said[text] {
			said[text] = true
			to = append(to, finding)
		}
	}
	return to
}

// Summary counts objects.
type Summary struct {
	Objects int `json:"objects"`
	Denied  int `json:"denied"`
	Warned  int `json:"warned"`
	Patched int `json:"patched"`
	// undecided are those that no policy denied and some policy could not evaluate.
	undecided int
}

func summarise(outcomes []outcome) Summary {
	s := Summary{Objects: len(outcomes)}
	for _, out := range outcomes {
		switch {
		case len(out.denials) > 0:
			s.Denied++
		case len(out.undecided) > 0:
			s.undecided++
		}
		if len(out.warnings) > 0 {
			s.Warned++
		}
		if len(out.patch) > 0 {
			s.Patched++
		}
	}
	return s
}

// join adds the outcome of built-in rules in front of that of the user's policies.
func (out *outcome) join(own outcome) {
	out.patch = append(own.patch, out.patch...)
	if out.refused {
		return
	}
	out.denials = addFindings(own.denials, out.denials)
	out.warnings = addFindings(own.warnings, out.warnings)
	out.undecided = append(own.undecided, out.undecided...)
}

// denialText is the text of a denial in kubectl. The messages of built-in rules and of the
// API server have no suffix.
func denialText(f engine.Finding) string {
	if hasNoSuffix(f) {
		return f.Words
	}
	return f.Text()
}

// warningText is the text of a warning in kubectl.
func warningText(f engine.Finding) string {
	if hasNoSuffix(f) {
		return f.Words
	}
	return f.WarningText()
}

// exemptedText is what an exception exempts, with its name and its end.
func exemptedText(f engine.Finding) string {
	return fmt.Sprintf("%s\nexempt by PolicyException %s, until %s", f.Text(), f.Exception, f.Expires.UTC().Format(time.RFC3339))
}

func hasNoSuffix(f engine.Finding) bool {
	return f.Policy == "" || f.Revision == rules.Revision && !f.Error
}
