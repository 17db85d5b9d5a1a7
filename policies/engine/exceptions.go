package engine

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/exception"
)

// clockSkew is by how much the clocks of replicas may differ: an exception that one replica
// accepted must not be too long for another.
const clockSkew = 5 * time.Minute

// The reasons why an exception has no effect.
const (
	// ReasonSourceNotFound reports that no PolicySource with the name has live policies.
	ReasonSourceNotFound = "SourceNotFound"
	// ReasonScopeMismatch reports that the PolicySource belongs to another scope than the
	// PolicyException.
	ReasonScopeMismatch = "ScopeMismatch"
	// ReasonPolicyNotFound reports that the PolicySource has no such policy.
	ReasonPolicyNotFound = "PolicyNotFound"
	// ReasonNotPermitted reports that the METADATA of the policy do not allow the PolicyException.
	ReasonNotPermitted = "NotPermitted"
)

// ExceptionProblem is a reason why an exception has no effect. Message names the field.
type ExceptionProblem struct {
	Reason  string `json:"reason"`
	Message string `json:"message"`
}

// policyName identifies a policy in a snapshot.
type policyName struct{ source, policy string }

// granted is an exception that its policy allows, while it expires within a duration from now.
type granted struct {
	*exception.Exception
	within time.Duration
}

// NewSnapshotWithExceptions is NewSnapshot with exceptions. Those with ExceptionProblems have no
// effect. They are not part of the digest of the snapshot.
func NewSnapshotWithExceptions(resources *admission.Resources, exceptions []*exception.Exception, sets ...*PolicySet) *Snapshot {
	s := NewSnapshot(resources, sets...)
	s.allExceptions = slices.SortedFunc(slices.Values(exceptions), (*exception.Exception).Compare)
	s.exceptions = map[policyName][]granted{}
	for _, one := range s.allExceptions {
		of, problem := s.exceptedPolicy(one)
		if problem != nil || forbidsException(of.Meta.Allowance(), one) != nil {
			continue
		}
		name := policyName{one.Source, one.Policy}
		s.exceptions[name] = append(s.exceptions[name], granted{one, of.Meta.Allowance().Duration()})
	}
	return s
}

// Exceptions lists the exceptions of the snapshot, also those without effect: the last to expire
// first.
func (s *Snapshot) Exceptions() []*exception.Exception { return s.allExceptions }

// ExceptionsInForce lists the exceptions that have an effect at a time: the last to expire first.
func (s *Snapshot) ExceptionsInForce(now time.Time) (found []*exception.Exception) {
	for _, of := range s.exceptions {
		for _, one := range of {
			if one.inForce(now) {
				found = append(found, one.Exception)
			}
		}
	}
	slices.SortFunc(found, (*exception.Exception).Compare)
	return found
}

// inForce reports whether the exception has an effect at a time.
func (g granted) inForce(now time.Time) bool {
	return !g.Expired(now) && g.Expires.Sub(now.Round(0)) <= g.within+clockSkew
}

// ExceptionProblems are the reasons why an exception has no effect at a time, other than that it
// has expired. It need not be one of the snapshot.
func (s *Snapshot) ExceptionProblems(one *exception.Exception, now time.Time) []ExceptionProblem {
	of, problem := s.exceptedPolicy(one)
	if problem != nil {
		return []ExceptionProblem{*problem}
	}
	allowance := of.Meta.Allowance()
	if problem := forbidsException(allowance, one); problem != nil {
		return []ExceptionProblem{*problem}
	}
	if ahead := allowance.Duration(); !one.Expired(now) && one.Expires.Sub(now.Round(0)) > ahead {
		return []ExceptionProblem{{ReasonNotPermitted, fmt.Sprintf(
			"spec.expiresAt: Invalid value %q: policy %s allows exceptions for %s at most (custom.exceptions.maxDuration of its METADATA): at the latest %s",
			one.Expires.UTC().Format(time.RFC3339), one.Policy, definition.FormatDays(ahead), now.Add(ahead).UTC().Format(time.RFC3339))}}
	}
	return nil
}

// exceptedPolicy finds the policy of an exception. The scope that the exception names must be
// that of the source: it may have been created by the owner of another scope, before the source
// had its present one.
func (s *Snapshot) exceptedPolicy(one *exception.Exception) (*policy, *ExceptionProblem) {
	var names, sources []string
	for _, p := range s.policies {
		source := p.source
		if !slices.Contains(sources, source.Name) {
			sources = append(sources, source.Name)
		}
		if source.Name != one.Source {
			continue
		}
		if key := source.Scope.Key(); key != one.Scope {
			return nil, &ExceptionProblem{ReasonScopeMismatch, fmt.Sprintf(
				"spec.scope: PolicySource %s belongs to %s, not to %s: set spec.scope to the scope of the PolicySource", one.Source, key, one.Scope)}
		}
		if p.Name == one.Policy {
			return p, nil
		}
		names = append(names, p.Name)
	}
	if names == nil {
		return nil, &ExceptionProblem{ReasonSourceNotFound, fmt.Sprintf(
			"spec.source: Not found: no PolicySource %q has live policies%s", one.Source, suggestName(one.Source, sources))}
	}
	return nil, &ExceptionProblem{ReasonPolicyNotFound, fmt.Sprintf(
		"spec.policy: Not found: PolicySource %s has no policy %q%s", one.Source, one.Policy, suggestName(one.Policy, names))}
}

func suggestName(name string, names []string) string {
	if near := admission.Nearest(name, names); near != "" {
		return fmt.Sprintf("; did you mean %s?", near)
	}
	const shown = 10
	more := ""
	if len(names) > shown {
		names, more = names[:shown], ", …"
	}
	if len(names) == 0 {
		return ""
	}
	return "; there are " + strings.Join(names, ", ") + more
}

// forbidsException is why a policy never allows an exception; nil if it may.
func forbidsException(allowance definition.Allowance, one *exception.Exception) *ExceptionProblem {
	switch {
	case allowance.Forbidden:
		return &ExceptionProblem{ReasonNotPermitted, fmt.Sprintf(
			"spec.policy: Forbidden: policy %s allows no exceptions (custom.exceptions.forbidden of its METADATA)", one.Policy)}
	case one.Selector != nil && !allowance.Selectors:
		return &ExceptionProblem{ReasonNotPermitted, fmt.Sprintf(
			"spec.match.selector: Forbidden: policy %s does not allow exceptions by label, which users who are exempt can edit: use namespaces and names, or set custom.exceptions.selectors of its METADATA to allowed", one.Policy)}
	}
	return nil
}

// exceptionsFor are the exceptions from a policy in force that select the object of a review. For
// the Pod that a workload would create, that is the workload.
func (s *Snapshot) exceptionsFor(p *policy, e *evaluation) (found []*exception.Exception) {
	if len(s.exceptions) == 0 {
		return nil
	}
	at := e.now
	if !e.options.ExceptionsAt.IsZero() {
		at = e.options.ExceptionsAt
	}
	for _, one := range s.exceptions[policyName{p.source.Name, p.Name}] {
		if one.inForce(at) && one.Selects(e.original, s.resources.KindOf(e.original)) {
			found = append(found, one.Exception)
		}
	}
	return found
}

// exempt moves the findings that an exception covers to Exempted. Errors are never exempt: what
// the policy would have said is not known.
func (i invocation) exempt(found *Decision) *Decision {
	if len(i.exceptions) == 0 {
		return found
	}
	for _, findings := range []*[]Finding{&found.Denials, &found.Warnings, &found.Audits} {
		var kept []Finding
		for _, finding := range *findings {
			one := i.exceptionFrom(finding)
			if one == nil {
				kept = append(kept, finding)
				continue
			}
			finding.Exception, finding.Expires = one.Name, one.Expires
			found.Exempted = append(found.Exempted, finding)
		}
		*findings = kept
	}
	return found
}

// exceptionFrom is the exception that covers a finding; nil if there is none.
func (i invocation) exceptionFrom(finding Finding) *exception.Exception {
	if finding.Error {
		return nil
	}
	object := i.evaluation.review.New
	if object == nil {
		object = i.evaluation.review.Old
	}
	for _, one := range i.exceptions {
		if one.Covers(finding.Rule) && one.CoversField(object, finding.Field) {
			return one
		}
	}
	return nil
}

// ExemptionTexts are the warnings about the exceptions that a decision is due to: one for each
// exception and rule.
func ExemptionTexts(exempted []Finding) (texts []string) {
	for _, f := range exempted {
		text := cut(fmt.Sprintf("PolicyException %s exempts this object from %s %s until %s", f.Exception, f.Policy, f.Rule, f.Expires.UTC().Format(time.RFC3339)), MaxWarningBytes)
		if !slices.Contains(texts, text) {
			texts = append(texts, text)
		}
	}
	return texts
}
