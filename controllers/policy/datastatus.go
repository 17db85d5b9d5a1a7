package policy

import (
	"cmp"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lintel-policy/lintel/api/policy/v1alpha1"
	"github.com/lintel-policy/lintel/controllers/object"
	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/external"
	"github.com/lintel-policy/lintel/policies/source/origin"
)

// The reasons of the conditions of a DataSource, in addition to those of a check of its origin.
const (
	// ReasonFresh reports that the origin was checked lately.
	ReasonFresh = "Fresh"
	// ReasonNotChecked reports that the origin was not checked without an error for too long.
	ReasonNotChecked = "NotChecked"
	// ReasonNoData reports that there never was any good data.
	ReasonNoData = "NoData"
	// ReasonLoadFailed reports that the stored data cannot be loaded.
	ReasonLoadFailed = "LoadFailed"
)

const (
	// defaultStaleAfter is the default of spec.staleAfter.
	defaultStaleAfter = time.Hour
	// successShare is the share of staleAfter by which status.lastSuccess may be behind.
	successShare = 4
)

// dataFacts are the input of the status of a DataSource.
type dataFacts struct {
	object *v1alpha1.DataSource
	now    time.Time
	// origin is the result of the last check of the origin: nil while it is suspended. digest is
	// that of its data: empty if there is none.
	origin *look
	digest string
	// live is the data that the leader serves, and loading the error of its last attempt to load
	// data: nil if it succeeded.
	live    *external.Data
	loading error
	// stored is the error of storing the data: nil if it was stored.
	stored   error
	replicas []v1alpha1.ReplicaStatus
}

// files are the files of the artifact to store: nil if the data is not known.
func (f dataFacts) files() (map[string]string, error) {
	if f.digest != "" {
		return f.origin.answer.Files, nil
	}
	if f.live == nil || f.live.Digest != f.object.Status.Digest {
		return nil, nil
	}
	text, err := f.live.Text()
	if err != nil {
		return nil, fmt.Errorf("writing the data of DataSource %s: %w", f.object.Name, err)
	}
	files := external.Files(text)
	if (definition.Source{Files: files}).Digest() != f.live.Digest {
		return nil, nil // stored by a version that wrote JSON in another way
	}
	return files, nil
}

// staleAfter is the time after which the data of a DataSource counts as stale.
func staleAfter(source *v1alpha1.DataSource) time.Duration {
	return cmp.Or(source.Spec.StaleAfter.Duration, defaultStaleAfter)
}

// lastSuccess is when the origin was last checked without an error; zero if it never was.
func (f dataFacts) lastSuccess() time.Time {
	var last time.Time
	if before := f.object.Status.LastSuccess; before != nil {
		last = before.Time
	}
	if f.origin != nil && f.origin.succeeded.After(last) {
		last = f.origin.succeeded
	}
	return last
}

// staleIn is the time until the data becomes stale: 0 if it is, or if there is none.
func staleIn(source *v1alpha1.DataSource, f dataFacts) time.Duration {
	last := f.lastSuccess()
	if last.IsZero() {
		return 0
	}
	return max(0, staleAfter(source)-f.now.Sub(last)+time.Second)
}

// dataStatus returns the next status of a DataSource. Unchanged conditions keep their transition
// time.
func dataStatus(f dataFacts) v1alpha1.DataSourceStatus {
	s := dataStatusWriter{dataFacts: f, next: *f.object.Status.DeepCopy()}
	s.next.ObservedGeneration, s.next.Replicas = f.object.Generation, f.replicas
	s.looked()
	if f.digest != "" && f.stored == nil {
		answer := f.origin.answer
		s.next.Digest, s.next.Revision, s.next.Entries = f.digest, answer.Revision, int32(answer.Entries)
		s.next.Bytes = 0
		for _, text := range answer.Files {
			s.next.Bytes += int64(len(text))
		}
	}
	s.setStale()
	s.setReady()
	return s.next
}

// dataStatusWriter writes the next status from facts.
type dataStatusWriter struct {
	dataFacts
	next v1alpha1.DataSourceStatus
}

func (s *dataStatusWriter) set(kind string, value bool, reason, message string) {
	object.Conditions{List: &s.next.Conditions, Generation: s.object.Generation}.Set(kind, value, reason, object.Shorten(message, maxMessage))
}

// looked records the check of the origin and its signature.
func (s *dataStatusWriter) looked() {
	spec := s.object.Spec
	verified := spec.Git != nil && spec.Git.Verify != nil || spec.OCI != nil && spec.OCI.Verify != nil || spec.HTTPS != nil && spec.HTTPS.Verify != nil
	if !verified {
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

// setStale sets the condition Stale, and status.lastSuccess if it is too far behind.
func (s *dataStatusWriter) setStale() {
	last, limit := s.lastSuccess(), staleAfter(s.object)
	switch {
	case s.next.Digest == "" && (s.origin == nil || s.origin.done):
		s.set(v1alpha1.ConditionStale, true, ReasonNoData, "there never was any data that could be used")
		return
	case last.IsZero():
		return // the first check has not ended
	}
	stale := s.now.Sub(last) > limit
	before := s.object.Status.LastSuccess
	wasStale := meta.IsStatusConditionTrue(s.object.Status.Conditions, v1alpha1.ConditionStale)
	if before == nil || last.Sub(before.Time) >= limit/successShare || wasStale && !stale || s.next.Digest != s.object.Status.Digest {
		at := metav1.NewTime(last).Rfc3339Copy()
		s.next.LastSuccess = &at
	}
	if stale {
		s.set(v1alpha1.ConditionStale, true, ReasonNotChecked, fmt.Sprintf("the origin was last checked without an error at %s, more than %s ago; policies read the last good data", s.next.LastSuccess.UTC().Format(time.RFC3339), limit))
		return
	}
	s.set(v1alpha1.ConditionStale, false, ReasonFresh, fmt.Sprintf("the origin was checked without an error within %s", limit))
}

// setReady sets the condition Ready.
func (s *dataStatusWriter) setReady() {
	serving := 0
	for _, replica := range s.replicas {
		if s.next.Digest != "" && replica.Digest == s.next.Digest {
			serving++
		}
	}
	served := fmt.Sprintf("%d of %d replicas serve revision %s with %d entries", serving, len(s.replicas), s.next.Revision, s.next.Entries)
	ready := func(value bool, reason, message string) { s.set(v1alpha1.ConditionReady, value, reason, message) }
	switch {
	case s.origin != nil && s.origin.failure != nil && s.next.Digest == "":
		ready(false, s.origin.failure.Reason, s.origin.failure.Message+"; there is no earlier data, so that policies that read it cannot be evaluated")
	case s.origin != nil && s.origin.failure != nil:
		ready(false, s.origin.failure.Reason, s.origin.failure.Message+"; the last good data, revision "+s.next.Revision+", stays in force")
	case s.stored != nil:
		ready(false, ReasonArtifactFailed, s.stored.Error())
	case s.next.Digest == "" && s.object.Spec.Suspend:
		ready(false, ReasonSuspended, "suspended before any data was fetched: set spec.suspend to false")
	case s.next.Digest == "" || s.origin != nil && !s.origin.done && s.object.Status.ObservedGeneration != s.object.Generation:
		ready(false, ReasonProgressing, "the origin is being fetched")
	case s.loading != nil && s.live == nil:
		ready(false, ReasonLoadFailed, s.loading.Error())
	case serving == 0 || serving < len(s.replicas):
		if s.loading != nil {
			ready(false, ReasonLoadFailed, served+"; "+s.loading.Error())
			return
		}
		ready(false, ReasonProgressing, served)
	case s.object.Spec.Suspend:
		ready(true, ReasonSuspended, "suspended: "+served)
	default:
		ready(true, ReasonServing, served)
	}
}
