package policy

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/lintel-policy/lintel/api/policy/v1alpha1"
	"github.com/lintel-policy/lintel/controllers/system"
	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/engine"
	"github.com/lintel-policy/lintel/policies/hierarchy"
	"github.com/lintel-policy/lintel/policies/rules"
	exceptionrules "github.com/lintel-policy/lintel/policies/rules/exceptions"
	"github.com/lintel-policy/lintel/policies/scope"
	"github.com/lintel-policy/lintel/policies/source"
)

// The virtual resource that RBAC grants to users who may make exceptions for a scope: the verb
// exceptVerb on the object that is named like the scope's ID, such as team-payments.
const (
	exceptVerb     = "except"
	exceptResource = "policyscopes"
)

// ExceptionProduct is the webhook entry for PolicyExceptions. It denies an exception that the
// requester may not make, and one that would have no effect. Writes that do not change the spec
// are allowed. The API server calls it for every served version, and for dry runs.
func (p *Policies) ExceptionProduct() (rules.Product, error) {
	snapshot, err := exceptionrules.New()
	if err != nil {
		return rules.Product{}, fmt.Errorf("compiling the rule for PolicyExceptions: %w", err)
	}
	admitter := exceptionAdmitter{client: p.manager.GetClient(), live: p.Live, now: time.Now}
	return rules.BuiltIn{
		Product: rules.Product{
			Name: "policyexception", Entry: "policyexception.policy.lintel.dev",
			Rules: rules.Called(admissionregistrationv1.ClusterScope, v1alpha1.GroupName, v1alpha1.SchemeGroupVersion.Version, []string{"policyexceptions"},
				admissionregistrationv1.Create, admissionregistrationv1.Update),
		},
		Snapshot: snapshot,
		Facts:    func(ctx context.Context, review *admission.Review) (any, error) { return admitter.facts(ctx, review) },
	}.Validating(), nil
}

// exceptionAdmitter gathers the facts for the rule about PolicyExceptions.
type exceptionAdmitter struct {
	client client.Client
	live   *engine.Live
	now    func() time.Time
}

func (a exceptionAdmitter) facts(ctx context.Context, review *admission.Review) (facts exceptionrules.Facts, err error) {
	object, err := system.Read[v1alpha1.PolicyException](review, review.Object)
	if err != nil {
		return facts, err
	}
	versions := []*v1alpha1.PolicyException{object}
	if review.Operation == "UPDATE" {
		old, err := system.Read[v1alpha1.PolicyException](review, review.OldObject)
		if err != nil {
			return facts, err
		}
		versions = append([]*v1alpha1.PolicyException{old}, versions...)
		if equality.Semantic.DeepEqual(object.Spec, old.Spec) {
			facts.Permitted = true
			return facts, nil
		}
	}
	snapshot := a.live.Snapshot()
	if snapshot == nil {
		return facts, errors.New("the policies are not loaded yet; retry")
	}
	// A user who changes an exception must be permitted to make the earlier one, too: otherwise
	// the owner of one scope could replace the exceptions of another.
	for _, one := range versions {
		key := hierarchy.Scope{Level: hierarchy.Level(one.Spec.Scope.Level), Name: one.Spec.Scope.Name}.Key()
		facts.Scope, facts.Scopes = key.String(), nil
		scopes := scope.ScopesOver(key, a.live.Sets())
		for _, over := range scopes {
			facts.Scopes = append(facts.Scopes, over.ID())
		}
		if facts.Permitted, err = a.mayExcept(ctx, review, facts.Scopes); err != nil || !facts.Permitted {
			return facts, err
		}
	}
	one, err := source.FromPolicyException(object)
	if err != nil {
		facts.Problems = []engine.ExceptionProblem{{Reason: ReasonInvalid, Message: err.Error()}}
		return facts, nil
	}
	facts.Expired = one.Expired(a.now())
	facts.Problems = scope.CheckException(snapshot, one, a.now())
	if set, ok := a.live.Get(one.Source); ok && len(facts.Problems) == 0 {
		facts.Warning = scope.WarnException(set, one)
	}
	return facts, nil
}

// mayExcept asks the API server whether the requester may make exceptions for one of the scopes.
func (a exceptionAdmitter) mayExcept(ctx context.Context, review *admission.Review, scopes []string) (bool, error) {
	text, err := review.UserInfo()
	if err != nil {
		return false, err
	}
	var user authenticationv1.UserInfo
	if err := json.Unmarshal(text, &user); err != nil {
		return false, fmt.Errorf("reading the requester: %w", err)
	}
	extra := map[string]authorizationv1.ExtraValue{}
	for key, values := range user.Extra {
		extra[key] = authorizationv1.ExtraValue(values)
	}
	for _, name := range scopes {
		access := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
			User: user.Username, UID: user.UID, Groups: user.Groups, Extra: extra,
			ResourceAttributes: &authorizationv1.ResourceAttributes{
				Group: v1alpha1.GroupName, Resource: exceptResource, Verb: exceptVerb, Name: name,
			},
		}}
		if err := a.client.Create(ctx, access); err != nil {
			return false, fmt.Errorf("asking whether %s may %s %s %s: %w", user.Username, exceptVerb, exceptResource, name, err)
		}
		if access.Status.Allowed {
			return true, nil
		}
	}
	return false, nil
}
