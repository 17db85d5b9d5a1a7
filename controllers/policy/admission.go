package policy

import (
	"context"
	"errors"
	"fmt"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/lintel-policy/lintel/api/policy/v1alpha1"
	"github.com/lintel-policy/lintel/controllers/system"
	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/engine"
	"github.com/lintel-policy/lintel/policies/rules"
	"github.com/lintel-policy/lintel/policies/scope"
	"github.com/lintel-policy/lintel/policies/source"
	"github.com/lintel-policy/lintel/policies/suite"
)

// Product is the webhook entry for PolicySources. It denies a PolicySource that the gate would
// reject, and lists the reasons by file and line. Writes that do not change the spec are
// allowed: a change of labels or finalizers must not reevaluate old policies.
//
// Policies from an external origin are evaluated after they are fetched: a write must not wait
// for the origin, and the Secrets that the object references may be created after it.
func (p *Policies) Product() rules.Product {
	gate := p.gate
	gate.Test = boundedTest(gate.Test)
	return rules.Product{
		Name: "policysource", Entry: "policysource.policy.lintel.dev", Validate: validator(p.Live, gate, p.options.AllowFileOrigins),
		Rules: rules.Called(admissionregistrationv1.ClusterScope, v1alpha1.GroupName, v1alpha1.SchemeGroupVersion.Version, []string{"policysources"},
			admissionregistrationv1.Create, admissionregistrationv1.Update),
	}
}

func validator(live *engine.Live, gate source.Gate, allowFileOrigins bool) rules.Evaluator {
	return func(ctx context.Context, review *admission.Review) (*rules.Answer, error) {
		object, err := system.Read[v1alpha1.PolicySource](review, review.Object)
		if err != nil {
			return nil, err
		}
		if review.Operation == "UPDATE" {
			old, err := system.Read[v1alpha1.PolicySource](review, review.OldObject)
			if err != nil {
				return nil, err
			}
			if equality.Semantic.DeepEqual(object.Spec, old.Spec) {
				return &rules.Answer{}, nil
			}
		}
		if git := object.Spec.Git; git != nil {
			if err := checkGitOrigin(git, allowFileOrigins); err != nil {
				return &rules.Answer{Denials: []string{err.Error()}}, nil
			}
		}
		verdict := gate.EvaluateScope(source.FromPolicySource(object, nil, ""), live)
		if object.Spec.Inline != nil {
			verdict, err = gate.Evaluate(ctx, source.FromPolicySource(object, object.Spec.Inline.Files, ""), live)
		}
		return answerTo(object, verdict), err
	}
}

// answerTo converts the verdict of the gate to the webhook's answer.
func answerTo(object *v1alpha1.PolicySource, verdict source.Verdict) *rules.Answer {
	switch {
	case verdict.Set != nil || verdict.Reason == "":
		return &rules.Answer{Warnings: verdict.WarningTexts()}
	case verdict.Reason == scope.ReasonNoParent && len(verdict.Errors) == 1:
		// Objects applied together arrive in any order; the gate waits for the parent.
		return &rules.Answer{Warnings: []string{verdict.Message + "; it goes live once the parent has"}}
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
	return &rules.Answer{Denials: []string{message}}
}

// testsAtAdmission limits how long the API server waits for a source's own tests.
const testsAtAdmission = 2 * time.Second

// boundedTest skips tests that exceed testsAtAdmission; the gate of the leader runs them again.
func boundedTest(test func(context.Context, definition.Source) (suite.Results, error)) func(context.Context, definition.Source) (suite.Results, error) {
	return func(ctx context.Context, candidate definition.Source) (suite.Results, error) {
		bounded, cancel := context.WithTimeout(ctx, testsAtAdmission)
		defer cancel()
		results, err := test(bounded, candidate)
		// The same applies if the request's own deadline comes first. A cancelled request is an
		// error.
		if err != nil && errors.Is(bounded.Err(), context.DeadlineExceeded) {
			return suite.Results{}, nil
		}
		return results, err
	}
}
