package audit

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/engine"
	"github.com/lintel-policy/lintel/policies/hierarchy"
	"github.com/lintel-policy/lintel/policies/terms"
)

// Auditor evaluates stored objects by one snapshot. It is immutable.
type Auditor struct {
	snapshot *engine.Snapshot
	// excluded are the namespaces whose objects admission does not review.
	excluded []string
	policies map[PolicyKey]policy
}

// policy has the common fields of all results of one policy.
type policy struct {
	engine.PolicyInfo
	constraint *Constraint
}

// New returns an auditor. excludedNamespaces are those that policies are never evaluated for.
func New(snapshot *engine.Snapshot, excludedNamespaces []string) *Auditor {
	a := &Auditor{snapshot: snapshot, excluded: excludedNamespaces, policies: map[PolicyKey]policy{}}
	for _, info := range snapshot.Policies() {
		if info.Validates || info.OnlyStored {
			a.policies[PolicyKey{info.Source, info.Package}] = policy{info, constraintOf(info)}
		}
	}
	return a
}

// Snapshot returns the policies that the auditor evaluates.
func (a *Auditor) Snapshot() *engine.Snapshot { return a.snapshot }

// Policies lists the policies that deny or warn, also those that cannot be audited, by scope,
// source and package.
func (a *Auditor) Policies() (infos []engine.PolicyInfo) {
	for _, info := range a.snapshot.Policies() {
		if info.Validates || info.OnlyStored {
			infos = append(infos, info)
		}
	}
	return infos
}

// Target is a resource whose objects policies are evaluated for.
type Target struct {
	// Resource is in the version in which the policies read the objects.
	Resource admission.ServedResource
	Policies []engine.PolicyInfo
}

// Kind returns the kind of the objects.
func (t Target) Kind() admission.GroupVersionKind {
	return admission.GroupVersionKind{Group: t.Resource.Group, Version: t.Resource.Version, Kind: t.Resource.Kind}
}

// Targets lists the resources of the cluster that policies match, by group and name. Resources
// that admission never reviews are left out.
func (a *Auditor) Targets() (targets []Target) {
	resources := a.snapshot.Resources()
	for _, resource := range resources.All() {
		kind := admission.GroupVersionKind{Group: resource.Group, Version: resource.Version, Kind: resource.Kind}
		if neverReviewed(resource) || resources.OnlyInSubresources(kind) {
			continue
		}
		matching := slices.DeleteFunc(a.snapshot.Audits(kind), func(info engine.PolicyInfo) bool { return info.Follows && !resource.Namespaced })
		if len(matching) == 0 {
			continue
		}
		resource.Version = versionFor(kind, matching, resources)
		targets = append(targets, Target{resource, matching})
	}
	return targets
}

// versionFor is the version that a policy names, otherwise the preferred one. The gate refuses
// policies that name different ones.
func versionFor(kind admission.GroupVersionKind, policies []engine.PolicyInfo, resources *admission.Resources) string {
	for _, info := range policies {
		if info.Follows || info.AnyVersion {
			continue
		}
		for _, named := range info.Match.Kinds {
			if named.WithoutVersion() == kind.WithoutVersion() && slices.Contains(resources.Versions(kind.Group, kind.Kind), named.Version) {
				return named.Version
			}
		}
	}
	return kind.Version
}

// neverReviewed reports whether admission keeps the requests for a resource away from policies,
// so that the cluster can always start: see the registered match conditions.
func neverReviewed(resource admission.ServedResource) bool {
	switch resource.Group {
	case "authentication.k8s.io", "authorization.k8s.io":
		return true
	case "coordination.k8s.io":
		return resource.Name == "leases"
	case "events.k8s.io":
		return resource.Name == "events"
	case "":
		return resource.Name == "events" || resource.Name == "nodes" || resource.Name == "bindings" || resource.Name == "componentstatuses"
	default:
		return false
	}
}

// ExcludesNamespace reports whether admission does not review the objects of a namespace.
func (a *Auditor) ExcludesNamespace(name string) bool { return slices.Contains(a.excluded, name) }

// excludes reports whether admission would not review an object.
func (a *Auditor) excludes(review *admission.Review) bool {
	if review.InNamespaces(a.excluded) {
		return true
	}
	if review.Resource.Group != "certificates.k8s.io" || review.Resource.Resource != "certificatesigningrequests" {
		return false
	}
	spec, _ := terms.Lookup(review.New.Value(), "spec").(ast.Object)
	return strings.HasPrefix(terms.Text(spec, "signerName"), "kubernetes.io/")
}

// Evaluation is the result of the evaluation of one object.
type Evaluation struct {
	// Results are sorted by policy, outcome and message.
	Results []Result
	// Undecided are the policies that could not be evaluated offline.
	Undecided []engine.Undecided
	// Policies counts the policies that were evaluated.
	Policies int
	// Excluded reports that admission does not review the object.
	Excluded bool
}

// Evaluate evaluates an object, in JSON, as if it were created now. resource is that of its
// kind, in the version of the object. The options contain what admission would have at hand: the
// Namespace and the cluster objects. The error is about an object that cannot be read.
func (a *Auditor) Evaluate(ctx context.Context, object []byte, resource admission.ServedResource, options engine.Options) (Evaluation, error) {
	review, err := admission.NewStoredReview(object, resource)
	if err != nil {
		return Evaluation{}, err
	}
	if err := review.CheckValues(); err != nil {
		return Evaluation{}, err
	}
	if a.excludes(review) {
		return Evaluation{Excluded: true}, nil
	}
	options.Stored = true
	decision := a.snapshot.Validate(ctx, review, options)
	if err := ctx.Err(); err != nil { // the policies were interrupted
		return Evaluation{}, fmt.Errorf("evaluating %s %s: %w", review.Kind, review.Name, err)
	}
	return Evaluation{Results: a.results(decision), Undecided: decision.Undecided, Policies: decision.Policies}, nil
}

// results turns the findings of a decision into results.
func (a *Auditor) results(decision *engine.Decision) (results []Result) {
	add := func(findings []engine.Finding, outcome func(engine.Finding) Outcome) {
		for _, finding := range findings {
			if result, ok := a.result(finding, outcome(finding)); ok {
				results = append(results, result)
			}
		}
	}
	always := func(outcome Outcome) func(engine.Finding) Outcome {
		return func(engine.Finding) Outcome { return outcome }
	}
	add(decision.Denials, always(Fail))
	add(decision.Warnings, always(Warn))
	add(decision.Audits, func(finding engine.Finding) Outcome {
		if finding.Rule == definition.EntryWarn {
			return Warn
		}
		return Fail
	})
	add(decision.Exempted, always(Skip))
	slices.SortStableFunc(results, Result.compare)
	return results
}

// result is false for the finding of a rule that depends on the request, and for what policies
// would change at admission.
func (a *Auditor) result(finding engine.Finding, outcome Outcome) (Result, bool) {
	info, validates := a.policies[PolicyKey{finding.Source, finding.Policy}]
	if !validates || finding.Rule == definition.EntryPatch || finding.Rule == definition.EntryDefaults {
		return Result{}, false
	}
	for _, reference := range info.NotAuditable {
		if !finding.Error && reference.Rule == finding.Location {
			return Result{}, false
		}
	}
	if finding.Error {
		outcome = Error
	}
	return Result{
		Source: finding.Source, Revision: finding.Revision, Scope: ScopeName(info.Scope),
		Policy: finding.Policy, Rule: finding.Rule, Constraint: info.constraint, Location: finding.Location,
		Outcome: outcome, Enforcement: info.Enforcement, Message: finding.ShortWords(),
		Field: finding.Field, Code: finding.Code, Severity: info.Severity, Category: info.Category,
		Exception: finding.Exception, ExceptionExpires: finding.Expires.UTC(),
	}, true
}

// ScopeName is enterprise, or level/name.
func ScopeName(scope hierarchy.Key) string {
	if scope.Level == hierarchy.Enterprise {
		return string(scope.Level)
	}
	return string(scope.Level) + "/" + scope.Name
}
