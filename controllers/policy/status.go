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
	"github.com/lintel-policy/lintel/controllers/object"
	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/scope"
	"github.com/lintel-policy/lintel/policies/source"
	"github.com/lintel-policy/lintel/policies/source/origin"
)

// The reasons of conditions, in addition to those of the gate.
const (
	ReasonCompiled            = "Compiled"
	ReasonRequiresForbidden   = "RequiresForbidden"
	ReasonRequiresUnknownKind = "RequiresUnknownKind"
	ReasonLimitReached        = "LimitReached"
	ReasonWithinLimits        = "WithinLimits"
	ReasonEnterprise          = "Enterprise"
	ReasonWithinScope         = "WithinScope"
	ReasonServing             = "Serving"
	ReasonNotEnforced         = "NotEnforced"
	ReasonNotRegistered       = "NotRegistered"
	ReasonNotCalled           = "NotCalled"
	ReasonProgressing         = "Progressing"
	ReasonArtifactFailed      = "ArtifactFailed"
	ReasonSuspended           = "Suspended"
	// ReasonComplete reports that all files of the live revision of a partial source are in force.
	ReasonComplete = "Complete"
	// ReasonFilesLeftOut reports that a partial source leaves out files of the live revision, which
	// the message and status.errors name.
	ReasonFilesLeftOut = "FilesLeftOut"
	// ReasonServingPart reports that a partial source is served without the files that the condition
	// Complete names.
	ReasonServingPart = "ServingPart"
)

// facts are the input of the status.
type facts struct {
	object *v1alpha1.PolicySource
	// origin is the result of the last check of the origin: nil for inline policies and while
	// the source is suspended.
	origin *look
	// verdict is about the latest revision: nil if there is none.
	verdict *source.Verdict
	// rehearsal is the outcome of the rehearsal of the latest revision: nil if the source is not
	// rehearsed.
	rehearsal *rehearsalOutcome
	// stored is the error of storing the artifact: nil if it was stored.
	stored error
	// unmet is why the kinds that the policies require cannot be read: nil if they can.
	unmet *unmet
	// missing is one of the required kinds that the leader has not cached itself: nil if it has
	// all.
	missing *missingError
	// dataMissing is why policies cannot read external data: empty if they can.
	dataMissing string
	// replicas are the live replicas, with the digest of this source that each serves.
	replicas []v1alpha1.ReplicaStatus
	// settings are those with which replicas serve the source, by replica: scope, parameters and
	// the like may change without a change of the files.
	settings map[string]string
	// limits are the policies of this source that reached a limit in the last minutes, on any
	// replica.
	limits []string
	// unregistered is why the API server does not call the webhooks for the live policies: "" if
	// it does. lost reports that it did before.
	unregistered string
	lost         bool
	// notCalled is why the API server does not call the webhooks although they are
	// registered; empty if it does.
	notCalled string
}

// permitted reports whether a revision that passed the gate may go live.
func (f facts) permitted() bool { return f.rehearsal == nil || f.rehearsal.permitted }

// status returns the next status of the PolicySource. Unchanged conditions keep their transition
// time.
func status(f facts) v1alpha1.PolicySourceStatus {
	s := statusWriter{facts: f, next: *f.object.Status.DeepCopy()}
	s.next.ObservedGeneration = f.object.Generation
	s.next.Replicas = f.replicas
	if len(f.limits) > 0 {
		s.set(v1alpha1.ConditionWithinLimits, false, ReasonLimitReached, "policies reached a limit in the last minutes: "+strings.Join(f.limits, ", "))
	} else {
		s.set(v1alpha1.ConditionWithinLimits, true, ReasonWithinLimits, "no policy has reached a limit lately")
	}
	s.looked()
	if !f.object.Spec.Partial {
		s.next.LeftOut = 0
		meta.RemoveStatusCondition(&s.next.Conditions, v1alpha1.ConditionComplete)
	}
	switch {
	case f.verdict == nil:
		s.keepConditions()
	case f.verdict.Set == nil:
		s.refused()
	default:
		s.passed()
	}
	if f.origin != nil && f.origin.failure != nil {
		s.set(v1alpha1.ConditionReady, false, f.origin.failure.Reason, s.withLiveRevision(f.origin.failure.Message))
	}
	return s.next
}

// statusWriter writes the next status from facts.
type statusWriter struct {
	facts
	next v1alpha1.PolicySourceStatus
}

// maxMessage is the maximum length of a condition's message, in bytes.
const maxMessage = 1024

func (s *statusWriter) set(kind string, ok bool, reason, message string) {
	object.Conditions{List: &s.next.Conditions, Generation: s.object.Generation}.Set(kind, ok, reason, object.Shorten(message, maxMessage))
}

// withLiveRevision appends to a message which revision stays live.
func (s *statusWriter) withLiveRevision(message string) string {
	if s.next.Digest == "" {
		return message
	}
	return message + "; the last good revision " + s.next.Revision + " stays live"
}

// looked sets the conditions about the check of the origin and its signature.
func (s *statusWriter) looked() {
	spec := s.object.Spec
	if spec.Inline != nil {
		s.next.LastHandledReconcileAt = s.object.Annotations[v1alpha1.ReconcileAtAnnotation]
	}
	if (spec.Git == nil || spec.Git.Verify == nil) && (spec.OCI == nil || spec.OCI.Verify == nil) {
		meta.RemoveStatusCondition(&s.next.Conditions, v1alpha1.ConditionSourceVerified)
	}
	if s.origin == nil || !s.origin.done {
		return
	}
	s.next.LastHandledReconcileAt = s.origin.handled
	switch failure := s.origin.failure; {
	case failure != nil && failure.Reason == origin.ReasonVerificationFailed:
		s.set(v1alpha1.ConditionSourceVerified, false, failure.Reason, failure.Message)
	case failure == nil && s.origin.answer.Signature != "":
		s.set(v1alpha1.ConditionSourceVerified, true, origin.ReasonVerified, s.origin.answer.Signature)
	}
}

// keepConditions is a status without a revision to evaluate: the conditions of the last one stay.
func (s *statusWriter) keepConditions() {
	switch {
	case s.object.Spec.Suspend && s.next.Digest == "":
		s.set(v1alpha1.ConditionReady, false, ReasonSuspended, "suspended before any revision was live: set spec.suspend to false")
	case s.object.Spec.Suspend:
		s.served("suspended: revision "+s.next.Revision+" stays in force", ReasonSuspended)
	case s.origin != nil && !s.origin.done && s.object.Status.ObservedGeneration != s.object.Generation:
		s.set(v1alpha1.ConditionReady, false, ReasonProgressing, "the origin is being fetched")
	}
}

// refused is the status of a revision that the gate rejects.
func (s *statusWriter) refused() {
	verdict := s.verdict
	s.next.Errors = policyErrors(verdict.Errors)
	message := verdict.Message
	if s.origin != nil {
		message = "revision " + s.origin.answer.Revision + ": " + message
	}
	message = s.withLiveRevision(message)
	if verdict.OutsideScope {
		s.set(v1alpha1.ConditionWithinScope, false, verdict.Reason, message)
	} else {
		s.set(v1alpha1.ConditionCompiled, false, verdict.Reason, message)
	}
	s.set(v1alpha1.ConditionReady, false, verdict.Reason, message)
}

// policyErrors are the first errors, as a status lists them.
func policyErrors(errs definition.CompileErrorList) (out []v1alpha1.PolicyError) {
	for _, err := range errs[:min(len(errs), v1alpha1.MaxPolicyErrors)] {
		out = append(out, v1alpha1.PolicyError{
			File: err.File, Line: int32(err.Line), Column: int32(err.Column), Message: err.Message,
		})
	}
	return out
}

// complete sets the condition about the files that a partial source leaves out.
func (s *statusWriter) complete() {
	leftOut := s.verdict.LeftOut
	s.next.LeftOut = int32(len(leftOut))
	if len(leftOut) == 0 {
		s.set(v1alpha1.ConditionComplete, true, ReasonComplete, "all files of the revision are in force")
		return
	}
	lastGood := 0
	var errs definition.CompileErrorList
	var texts []string
	for _, file := range leftOut {
		if file.LastGood {
			lastGood++
		}
		errs, texts = append(errs, file.CompileError), append(texts, file.String())
	}
	s.next.Errors = policyErrors(errs)
	s.set(v1alpha1.ConditionComplete, false, ReasonFilesLeftOut, fmt.Sprintf("%s, %d of them with the text of the last good revision in force: %s",
		s.leftOutText(), lastGood, strings.Join(texts, "; ")))
}

// leftOutText counts the files that are left out.
func (s *statusWriter) leftOutText() string {
	return fmt.Sprintf("files of the revision that are not in force: %d", s.next.LeftOut)
}

// passed is the status of a revision that passed the gate.
func (s *statusWriter) passed() {
	s.next.Errors = nil
	set := s.verdict.Set
	counts := fmt.Sprintf("policies: %d, rules: %d", set.Policies(), set.Rules())
	s.set(v1alpha1.ConditionCompiled, true, ReasonCompiled, strings.Join(append([]string{counts}, s.verdict.WarningTexts()...), "; "))
	switch level := s.object.Spec.Scope.Level; {
	case s.verdict.OutsideScope:
		s.set(v1alpha1.ConditionWithinScope, false, s.verdict.Reason, s.verdict.Message)
	case level == "" || level == v1alpha1.ScopeLevelEnterprise:
		s.set(v1alpha1.ConditionWithinScope, true, ReasonEnterprise, "the enterprise scope has no parent")
	default:
		s.set(v1alpha1.ConditionWithinScope, true, ReasonWithinScope, "it restricts what its scope has, and widens nothing")
	}
	s.next.Rehearsal = nil
	if s.rehearsal != nil {
		s.next.Rehearsal = s.rehearsal.status
	}
	if !s.permitted() {
		s.set(v1alpha1.ConditionReady, false, s.rehearsal.reason(), s.withLiveRevision("revision "+set.Revision()+": "+s.rehearsal.status.Message))
		return
	}
	if s.stored != nil {
		s.set(v1alpha1.ConditionReady, false, ReasonArtifactFailed, s.stored.Error())
		return
	}
	if s.unmet != nil {
		message := s.unmet.message
		if s.next.Digest != "" {
			message += "; until then, revision " + s.next.Revision + " stays live with the objects it has"
		}
		s.set(v1alpha1.ConditionReady, false, s.unmet.reason, message)
		return
	}
	if s.dataMissing != "" && s.next.Digest != "" && s.next.Digest != set.Digest() {
		s.set(v1alpha1.ConditionReady, false, ReasonDataMissing, s.withLiveRevision(s.dataMissing))
		return
	}
	if s.object.Spec.Partial {
		s.complete()
	}
	s.next.Digest, s.next.Revision = set.Digest(), set.Revision()
	s.next.Policies, s.next.Rules = int32(set.Policies()), int32(set.Rules())
	s.served(counts, ReasonServing)
}

// served reports whether all replicas serve the live revision and the API server calls them for
// it.
func (s *statusWriter) served(what, reason string) {
	serving := 0
	for _, replica := range s.replicas {
		if replica.Digest == s.next.Digest && s.upToDate(replica.Name) {
			serving++
		}
	}
	switch {
	case serving == 0 || serving < len(s.replicas):
		message := fmt.Sprintf("%d of %d replicas serve this revision", serving, len(s.replicas))
		if s.missing != nil {
			message += "; " + s.missing.Error()
		}
		s.set(v1alpha1.ConditionReady, false, ReasonProgressing, message)
	case s.dataMissing != "":
		s.set(v1alpha1.ConditionReady, false, ReasonDataMissing, s.dataMissing+"; until then, policies that read the data are not evaluated, and spec.failurePolicy applies to the requests that they match")
	case s.unregistered != "" && s.lost:
		s.set(v1alpha1.ConditionReady, false, ReasonNotRegistered, s.unregistered)
	case s.unregistered != "":
		s.set(v1alpha1.ConditionReady, false, ReasonProgressing, s.unregistered)
	case s.notCalled != "":
		s.set(v1alpha1.ConditionReady, false, ReasonNotCalled, s.notCalled)
	case s.verdict != nil && s.verdict.Reason == scope.ReasonPackageConflict:
		s.set(v1alpha1.ConditionReady, false, s.verdict.Reason, "this revision stays in force, and a new one is refused: "+s.verdict.Message)
	case s.verdict != nil && s.verdict.OutsideScope:
		s.set(v1alpha1.ConditionReady, false, s.verdict.Reason, "where a scope above has no namespaces, these policies bind nothing: "+s.verdict.Message)
	default:
		message := fmt.Sprintf("%s, served by %d of %d replicas", what, serving, len(s.replicas))
		if left := s.object.Annotations[v1alpha1.NotEnforcedAnnotation]; left != "" {
			s.set(v1alpha1.ConditionReady, false, ReasonNotEnforced, message+"; "+left)
			return
		}
		if s.next.LeftOut > 0 {
			message += "; " + s.leftOutText()
			if reason == ReasonServing {
				reason = ReasonServingPart
			}
		}
		s.set(v1alpha1.ConditionReady, true, reason, message)
	}
}

// upToDate reports whether a replica serves the source with its current settings.
func (s *statusWriter) upToDate(replica string) bool {
	settings, reported := s.settings[replica]
	return !reported || settings == source.FromPolicySource(s.object, nil, s.next.Revision).Settings()
}

// serving merges the Leases of the replicas into the revision that each serves of one source,
// which digestsOf reads.
// The since field keeps its time for a replica whose revision did not change.
func serving(name string, reports []replicaReport, previous []v1alpha1.ReplicaStatus, now time.Time, digestsOf func(replicaReport) map[string]string) []v1alpha1.ReplicaStatus {
	var out []v1alpha1.ReplicaStatus
	for _, r := range reports {
		if now.Sub(r.renewed) > reportExpiry {
			continue
		}
		replica := v1alpha1.ReplicaStatus{Name: r.replica, Digest: digestsOf(r)[name], Time: metav1.NewTime(now).Rfc3339Copy()}
		i := slices.IndexFunc(previous, func(p v1alpha1.ReplicaStatus) bool { return p.Name == replica.Name })
		if i >= 0 && previous[i].Digest == replica.Digest {
			replica.Time = previous[i].Time
		}
		out = append(out, replica)
	}
	slices.SortFunc(out, func(a, b v1alpha1.ReplicaStatus) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

// limitsOf lists the limits that live replicas report for one source, without duplicates.
func limitsOf(name string, reports []replicaReport, now time.Time) []string {
	var out []string
	for _, r := range reports {
		if now.Sub(r.renewed) <= reportExpiry {
			out = append(out, r.limits[name]...)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
