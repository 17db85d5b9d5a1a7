package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/lintel-policy/lintel/api/policy/v1alpha1"
	"github.com/lintel-policy/lintel/controllers/policy"
	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/engine"
	"github.com/lintel-policy/lintel/policies/scope"
	"github.com/lintel-policy/lintel/policies/source"
	"github.com/lintel-policy/lintel/policies/suite"
	"github.com/lintel-policy/lintel/webhooks"
)

// judgePolicySources refuses a PolicySource that the gate would not let live, with
// the reasons by file and line. A write that leaves the spec alone passes: labels
// and finalizers are no reason to judge old policies anew.
//
// What lies elsewhere is judged once it was fetched: an object must not wait for its
// origin, and the Secrets that it names may come after it.
func judgePolicySources(live *engine.Live, gate source.Gate, allowFileOrigins bool) webhooks.Judge {
	gate.Test = soon(gate.Test)
	return func(ctx context.Context, review *admission.Review) (*webhooks.Verdict, error) {
		object, err := readPolicySource(review.Object())
		if err != nil {
			return nil, err
		}
		if review.Operation == "UPDATE" {
			old, err := readPolicySource(review.OldObject())
			if err != nil {
				return nil, err
			}
			if equality.Semantic.DeepEqual(object.Spec, old.Spec) {
				return &webhooks.Verdict{}, nil
			}
		}
		if git := object.Spec.Git; git != nil {
			if err := policy.CheckGitOrigin(git, allowFileOrigins); err != nil {
				return &webhooks.Verdict{Denials: []string{err.Error()}}, nil
			}
		}
		verdict := gate.JudgeScope(source.FromPolicySource(object, nil, ""), live)
		if object.Spec.Inline != nil {
			verdict, err = gate.Judge(ctx, source.FromPolicySource(object, object.Spec.Inline.Files, ""), live)
		}
		return answerTo(object, verdict), err
	}
}

// answerTo says in the webhook what the gate found.
func answerTo(object *v1alpha1.PolicySource, verdict source.Verdict) *webhooks.Verdict {
	switch {
	case verdict.Set != nil || verdict.Reason == "":
		return &webhooks.Verdict{Warnings: verdict.WarningTexts()}
	case verdict.Reason == scope.ReasonNoParent && len(verdict.Errors) == 1:
		// What is applied together arrives in any order; the gate waits for the parent.
		return &webhooks.Verdict{Warnings: []string{verdict.Message + "; it goes live once the parent has"}}
	}
	message := verdict.Message
	switch {
	case verdict.Reason == scope.ReasonPackageConflict:
		message = fmt.Sprintf("PolicySource %s has a package that another source has, too:\n%s", object.Name, verdict.Errors)
	case verdict.OutsideScope:
		message = fmt.Sprintf("PolicySource %s reaches beyond its scope:\n%s", object.Name, verdict.Errors)
	case verdict.Reason == source.ReasonTestsFailed:
		message = fmt.Sprintf("tests of PolicySource %s fail:\n%s", object.Name, verdict.Errors)
	case len(verdict.Errors) > 0:
		message = fmt.Sprintf("the policies of PolicySource %s do not compile:\n%s", object.Name, verdict.Errors)
	}
	return &webhooks.Verdict{Denials: []string{message}}
}

// testsAtAdmission is how long the API server is kept waiting for a source's own tests.
const testsAtAdmission = 2 * time.Second

// soon leaves tests that take longer to the gate behind the webhook.
func soon(test func(context.Context, engine.Source) (suite.Results, error)) func(context.Context, engine.Source) (suite.Results, error) {
	return func(ctx context.Context, candidate engine.Source) (suite.Results, error) {
		bounded, cancel := context.WithTimeout(ctx, testsAtAdmission)
		defer cancel()
		results, err := test(bounded, candidate)
		// A request that is about to end leaves them, too; for one that has gone nothing is said.
		if err != nil && errors.Is(bounded.Err(), context.DeadlineExceeded) {
			return suite.Results{}, nil
		}
		return results, err
	}
}

func readPolicySource(text json.RawMessage, err error) (*v1alpha1.PolicySource, error) {
	if err != nil {
		return nil, err
	}
	object := &v1alpha1.PolicySource{}
	if err := json.Unmarshal(text, object); err != nil {
		return nil, fmt.Errorf("reading the PolicySource: %w", err)
	}
	return object, nil
}
