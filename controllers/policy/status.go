package policy

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lintel-policy/lintel/api/policy/v1alpha1"
	"github.com/lintel-policy/lintel/policies/source"
)

// The reasons of conditions, beside those of the gate.
const (
	ReasonCompiled            = "Compiled"
	ReasonOriginNotServed     = "OriginNotServed"
	ReasonRequiresForbidden   = "RequiresForbidden"
	ReasonRequiresUnknownKind = "RequiresUnknownKind"
	ReasonLimitReached        = "LimitReached"
	ReasonWithinLimits        = "WithinLimits"
	ReasonEnterprise          = "Enterprise"
	ReasonWithinScope         = "WithinScope"
	ReasonServing             = "Serving"
	ReasonProgressing         = "Progressing"
	ReasonArtifactFailed      = "ArtifactFailed"
)

// facts are what a status is computed from.
type facts struct {
	object  *v1alpha1.PolicySource
	verdict source.Verdict
	// stored is why the artifact could not be stored: nil where it was.
	stored error
	// unmet is why what the policies require cannot be read: nil where it can.
	unmet *unmet
	// missing is which of the objects that it requires the leader has not got itself:
	// nil where it has all.
	missing *MissingError
	// replicas are the live replicas, with the digest that each serves of this source.
	replicas []v1alpha1.ReplicaStatus
	// limits are the policies of this source that reached a limit lately, on any replica.
	limits []string
	// registered says that the API server calls for the live policies.
	registered bool
}

// status is what the PolicySource says next. Conditions keep their transition time
// where they do not change.
func status(f facts) v1alpha1.PolicySourceStatus {
	next := *f.object.Status.DeepCopy()
	next.ObservedGeneration = f.object.Generation
	next.Errors = nil
	next.Replicas = f.replicas
	set := func(kind string, ok bool, reason, message string) {
		value := metav1.ConditionFalse
		if ok {
			value = metav1.ConditionTrue
		}
		meta.SetStatusCondition(&next.Conditions, metav1.Condition{
			Type: kind, Status: value, Reason: reason, Message: message, ObservedGeneration: f.object.Generation,
		})
	}
	if len(f.limits) > 0 {
		set(v1alpha1.ConditionWithinLimits, false, ReasonLimitReached, shorten("policies reached a limit in the last minutes: "+strings.Join(f.limits, ", ")))
	} else {
		set(v1alpha1.ConditionWithinLimits, true, ReasonWithinLimits, "no policy has reached a limit lately")
	}
	verdict := f.verdict
	if verdict.Set == nil {
		for _, err := range verdict.Errors[:min(len(verdict.Errors), v1alpha1.MaxPolicyErrors)] {
			next.Errors = append(next.Errors, v1alpha1.PolicyError{
				File: err.File, Line: int32(err.Line), Column: int32(err.Column), Message: err.Message,
			})
		}
		message := shorten(verdict.Message)
		if next.Digest != "" {
			message = shorten(verdict.Message + "; the last good revision " + next.Revision + " stays live")
		}
		if verdict.OutsideScope {
			set(v1alpha1.ConditionWithinScope, false, verdict.Reason, message)
		} else {
			set(v1alpha1.ConditionCompiled, false, verdict.Reason, message)
		}
		set(v1alpha1.ConditionReady, false, verdict.Reason, message)
		return next
	}
	counts := fmt.Sprintf("%d policies, %d rules", verdict.Set.Policies(), verdict.Set.Rules())
	set(v1alpha1.ConditionCompiled, true, ReasonCompiled, counts)
	if verdict.OutsideScope {
		set(v1alpha1.ConditionWithinScope, false, verdict.Reason, shorten(verdict.Message))
	} else if f.object.Spec.Scope.Level == "" || f.object.Spec.Scope.Level == v1alpha1.ScopeLevelEnterprise {
		set(v1alpha1.ConditionWithinScope, true, ReasonEnterprise, "the enterprise scope has no parent")
	} else {
		set(v1alpha1.ConditionWithinScope, true, ReasonWithinScope, "it restricts what its scope has, and widens nothing")
	}
	if f.stored != nil {
		set(v1alpha1.ConditionReady, false, ReasonArtifactFailed, shorten(f.stored.Error()))
		return next
	}
	if f.unmet != nil {
		message := f.unmet.message
		if next.Digest != "" {
			message += "; until then, revision " + next.Revision + " stays live with the objects it has"
		}
		set(v1alpha1.ConditionReady, false, f.unmet.reason, shorten(message))
		return next
	}
	next.Digest, next.Revision = verdict.Set.Digest(), verdict.Set.Revision()
	next.Policies, next.Rules = int32(verdict.Set.Policies()), int32(verdict.Set.Rules())
	serving := 0
	for _, replica := range f.replicas {
		if replica.Digest == next.Digest {
			serving++
		}
	}
	switch {
	case serving == 0 || serving < len(f.replicas):
		message := fmt.Sprintf("%d of %d replicas serve this revision", serving, len(f.replicas))
		if f.missing != nil {
			message += "; " + f.missing.Error()
		}
		set(v1alpha1.ConditionReady, false, ReasonProgressing, shorten(message))
	case verdict.OutsideScope:
		set(v1alpha1.ConditionReady, false, verdict.Reason, shorten("where a scope above has no namespaces, these policies bind nothing: "+verdict.Message))
	case !f.registered:
		set(v1alpha1.ConditionReady, false, ReasonProgressing, "the webhook configurations are being brought up to date")
	default:
		set(v1alpha1.ConditionReady, true, ReasonServing, fmt.Sprintf("%s, served by %d of %d replicas", counts, serving, len(f.replicas)))
	}
	return next
}

// serving folds the Leases of the replicas into what each serves of one source.
// since keeps the time of a replica that serves what it served before.
func serving(name string, reports []report, previous []v1alpha1.ReplicaStatus, now time.Time) []v1alpha1.ReplicaStatus {
	var out []v1alpha1.ReplicaStatus
	for _, r := range reports {
		if now.Sub(r.renewed) > reportExpiry {
			continue
		}
		replica := v1alpha1.ReplicaStatus{Name: r.replica, Digest: r.digests[name], Time: metav1.NewTime(now).Rfc3339Copy()}
		i := slices.IndexFunc(previous, func(p v1alpha1.ReplicaStatus) bool { return p.Name == replica.Name })
		if i >= 0 && previous[i].Digest == replica.Digest {
			replica.Time = previous[i].Time
		}
		out = append(out, replica)
	}
	slices.SortFunc(out, func(a, b v1alpha1.ReplicaStatus) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

// limitsOf are what the live replicas report of one source, each once.
func limitsOf(name string, reports []report, now time.Time) []string {
	var out []string
	for _, r := range reports {
		if now.Sub(r.renewed) <= reportExpiry {
			out = append(out, r.limits[name]...)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// shorten keeps a message within what a condition may hold.
func shorten(message string) string {
	const limit = 1024
	if len(message) <= limit {
		return message
	}
	return message[:limit] + "…"
}
