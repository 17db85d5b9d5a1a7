package gatekeeper

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/lintel-policy/lintel/api/policy/v1alpha1"
	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/engine"
	"github.com/lintel-policy/lintel/policies/source"
)

// inactive returns why accepted constraints review no objects, by their id. This is not an
// error: a constraint may be for audits only, and its kind may be installed later.
func (r *Reconciler) inactive(ctx context.Context, existing *v1alpha1.PolicySource, kept []*candidate) (map[string]string, error) {
	verdict, err := r.options.Evaluate(ctx, source.FromPolicySource(existing, filesIn(existing), ""))
	if err != nil || verdict.Set == nil {
		return nil, err
	}
	policies := map[string]engine.PolicyInfo{}
	for _, policy := range engine.Describe(verdict.Set) {
		policies[policy.Package] = policy
	}
	reasons := map[string]string{}
	for _, c := range kept {
		if c.object.GroupVersionKind().Group != constraintGroup {
			continue
		}
		if policy, reviews := policies[id(c.object)]; !reviews {
			reasons[id(c.object)] = "none of its enforcement points is validation.gatekeeper.sh, audit.gatekeeper.sh or *: it reviews no objects"
		} else if policy.OnlyStored && !r.options.Audits {
			reasons[id(c.object)] = "its only enforcement point is audit.gatekeeper.sh, and audit is off; start the manager with --audit"
		} else if why := unserved(policy, r.options.Resources()); why != "" {
			reasons[id(c.object)] = why
		}
	}
	return reasons, nil
}

// unserved reports that the cluster serves none of the kinds that a policy names: "" if it
// serves one.
func unserved(policy engine.PolicyInfo, resources *admission.Resources) string {
	kinds := policy.Match.Kinds
	if len(kinds) == 0 || len(policy.Match.Carriers) > 0 {
		return ""
	}
	matches := func(name, other string) bool { return name == "*" || name == other }
	names := make([]string, len(kinds))
	for i, kind := range kinds {
		if slices.ContainsFunc(resources.All(), func(one admission.ServedResource) bool {
			return matches(kind.Group, one.Group) && matches(kind.Kind, one.Kind)
		}) {
			return ""
		}
		names[i] = kind.String() + resources.Suggest(kind.Group, kind.Kind)
	}
	return fmt.Sprintf("the cluster has none of its kinds: %s", strings.Join(names, ", "))
}
