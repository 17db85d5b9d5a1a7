package main

import (
	"context"
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/lintel-policy/lintel/api/policy/v1alpha1"
	"github.com/lintel-policy/lintel/controllers/policy"
	"github.com/lintel-policy/lintel/policies/engine"
	"github.com/lintel-policy/lintel/policies/source"
	"github.com/lintel-policy/lintel/webhooks"
)

// judgePolicySources refuses a PolicySource that the gate would not let live, with
// the reasons by file and line. A write that leaves the spec alone passes: labels
// and finalizers are no reason to judge old policies anew.
//
// What lies elsewhere is judged once it was fetched: an object must not wait for its
// origin, and the Secrets that it names may come after it.
func judgePolicySources(live *engine.Live, gate source.Gate, allowFileOrigins bool) webhooks.Judge {
	return func(ctx context.Context, review *engine.Review) (*webhooks.Verdict, error) {
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
		if object.Spec.Inline == nil {
			return &webhooks.Verdict{}, nil
		}
		verdict, err := gate.Judge(ctx, source.FromPolicySource(object, object.Spec.Inline.Files, ""), live)
		if err != nil {
			return nil, err
		}
		if verdict.Set != nil {
			return &webhooks.Verdict{Warnings: verdict.Warnings}, nil
		}
		message := verdict.Message
		if len(verdict.Errors) > 0 {
			message = fmt.Sprintf("the policies of PolicySource %s do not compile:\n%s", object.Name, verdict.Errors)
		}
		return &webhooks.Verdict{Denials: []string{message}}, nil
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
