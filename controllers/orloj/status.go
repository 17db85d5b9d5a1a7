package orloj

import (
	"fmt"
	"regexp"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/lintel-policy/lintel/api/orloj/v1"
	"github.com/lintel-policy/lintel/controllers/orloj/store"
)

// Reasons of conditions, beside those of store.Problem.
const (
	reasonSynced      = "Synced"
	reasonAdmitted    = "Admitted"
	reasonDenied      = "Denied"
	reasonNotAdmitted = "NotAdmitted"
	reasonRowExisted  = "RowExisted"
	reasonRepaired    = "DriftRepaired"
	reasonPlaintext   = "StoredAsPlaintext"
	reasonNotKept     = "NotKept"
)

// outcome is what came of one try to bring an object into the store.
type outcome struct {
	// denied is what the rules say against the object.
	denied string
	// problem kept the row from being written.
	problem *store.Problem
	// result is of the row at key, where neither is set.
	result store.Result
	key    string
	// moved says that a row elsewhere went.
	moved bool
	// keeps says that orlojd is known to keep every field of the row.
	keeps bool
}

// nextStatus is what an object says after a try. Nothing in it changes by itself: what
// is tried again and comes out as before is not written again.
func nextStatus(object v1.Object, o outcome, now time.Time) v1.Status {
	next := *object.SyncStatus().DeepCopy()
	next.ObservedGeneration = object.GetGeneration()
	c := conditions{&next.Conditions, object.GetGeneration()}
	c.set(v1.ConditionAdmitted, metav1.ConditionTrue, reasonAdmitted, "no rule denies the object")
	switch {
	case o.denied != "":
		c.set(v1.ConditionAdmitted, metav1.ConditionFalse, reasonDenied, o.denied)
		failed(&next, c, reasonNotAdmitted, o.denied, true)
	case o.problem != nil:
		if o.problem.Unavailable() {
			c.set(v1.ConditionStoreAvailable, metav1.ConditionFalse, o.problem.Reason, o.problem.Message)
		} else {
			c.available()
		}
		failed(&next, c, o.problem.Reason, o.problem.Message, o.problem.Permanent())
		if ofAnother[o.problem.Reason] && next.StoreKey == o.key {
			next.StoreKey = ""
		}
	default:
		c.available()
		synced(&next, c, o, now)
	}
	return next
}

// ofAnother are the reasons for which an object has no row.
var ofAnother = map[string]bool{
	store.ReasonTaken: true, store.ReasonCluster: true, store.ReasonReleased: true, store.ReasonGenerated: true,
}

func failed(next *v1.Status, c conditions, reason, message string, stalled bool) {
	next.Phase, next.SyncError = v1.PhaseSyncError, shorten(message)
	c.set(v1.ConditionSynced, metav1.ConditionFalse, reason, message)
	c.set(v1.ConditionReady, metav1.ConditionFalse, reason, message)
	if stalled {
		c.set(v1.ConditionStalled, metav1.ConditionTrue, reason, message)
	} else {
		meta.RemoveStatusCondition(c.list, v1.ConditionStalled)
	}
}

func synced(next *v1.Status, c conditions, o outcome, now time.Time) {
	next.Phase, next.SyncError = v1.PhaseSynced, ""
	if o.result.Written() || o.moved || next.LastSyncedAt == nil {
		next.LastSyncedAt = &metav1.Time{Time: now.Truncate(time.Second)}
	}
	reason, message := syncedAs(next, o)
	c.set(v1.ConditionSynced, metav1.ConditionTrue, reason, message)
	c.set(v1.ConditionReady, metav1.ConditionTrue, reason, message)
	meta.RemoveStatusCondition(c.list, v1.ConditionStalled)
	// A row that lost its owner was ours before, and is no other's.
	if o.result.Adopted && next.StoreKey != o.key {
		c.set(v1.ConditionAdopted, metav1.ConditionTrue, reasonRowExisted, fmt.Sprintf(
			"the row %s was in the store before and is this object's now; annotation %s: %s leaves it there when the object is deleted",
			o.key, v1.DeletionPolicyAnnotation, v1.Retain))
	} else if next.StoreKey != "" && next.StoreKey != o.key {
		meta.RemoveStatusCondition(c.list, v1.ConditionAdopted)
	}
	next.StoreKey = o.key
	c.storePhase(o.result.Phase, o.result.LastError)
}

// syncedAs says where an object is stored, and what of it orlojd does not keep. That it
// does not is said until it is known to: a row that was just written says nothing.
func syncedAs(before *v1.Status, o outcome) (reason, message string) {
	switch {
	case len(o.result.NotKept) > 0:
		return reasonNotKept, fmt.Sprintf("stored as %s, but this orlojd does not keep spec.%s: it was gone twice after it had been written, and has no effect; take it out, or upgrade orlojd",
			o.key, strings.Join(o.result.NotKept, ", spec."))
	case saysNotKept(before) && before.StoreKey == o.key && !o.keeps:
		return reasonNotKept, meta.FindStatusCondition(before.Conditions, v1.ConditionSynced).Message
	}
	return reasonSynced, "stored as " + o.key
}

// saysNotKept says whether a status tells of fields that orlojd does not keep.
func saysNotKept(s *v1.Status) bool {
	synced := meta.FindStatusCondition(s.Conditions, v1.ConditionSynced)
	return synced != nil && synced.Reason == reasonNotKept
}

// conditions sets the conditions of one generation.
type conditions struct {
	list       *[]metav1.Condition
	generation int64
}

func (c conditions) set(kind string, status metav1.ConditionStatus, reason, message string) {
	meta.SetStatusCondition(c.list, metav1.Condition{
		Type: kind, Status: status, Reason: reason, Message: shorten(message), ObservedGeneration: c.generation,
	})
}

// available says nothing: a condition that every object has costs, and tells nobody
// anything.
func (c conditions) available() { meta.RemoveStatusCondition(c.list, v1.ConditionStoreAvailable) }

// reasonPattern is what the API server takes for a reason.
var reasonPattern = regexp.MustCompile(`^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$`)

// storePhase tells the phase that orlojd gives the row; it says nothing of syncing.
func (c conditions) storePhase(phase, lastError string) {
	status, reason := metav1.ConditionUnknown, phase
	switch phase {
	case "Ready":
		status = metav1.ConditionTrue
	case "Error", "Failed":
		status = metav1.ConditionFalse
	}
	if !reasonPattern.MatchString(phase) {
		reason = "Unknown"
	}
	message := fmt.Sprintf("orlojd's phase is %q", phase)
	if lastError != "" {
		message += ": " + lastError
	}
	c.set(v1.ConditionStorePhase, status, reason, message)
}

// shorten keeps a message within what a condition holds and people read.
func shorten(message string) string {
	const limit = 4096
	if len(message) <= limit {
		return message
	}
	return message[:limit] + "…"
}

// tell sends an Event where an object is no longer synced, for another reason than
// before, or is again.
func (o Options) tell(object v1.Object, before, after *v1.Status) {
	was, is := meta.FindStatusCondition(before.Conditions, v1.ConditionSynced), meta.FindStatusCondition(after.Conditions, v1.ConditionSynced)
	switch {
	case is.Status == metav1.ConditionFalse && (was == nil || was.Status != is.Status || was.Reason != is.Reason):
		o.Events.Eventf(object, nil, corev1.EventTypeWarning, is.Reason, "Sync", "%s", is.Message)
	case is.Reason == reasonNotKept && (was == nil || was.Message != is.Message):
		o.Events.Eventf(object, nil, corev1.EventTypeWarning, is.Reason, "Sync", "%s", is.Message)
	case is.Status == metav1.ConditionTrue && was != nil && was.Status != is.Status:
		o.Events.Eventf(object, nil, corev1.EventTypeNormal, is.Reason, "Sync", "%s", is.Message)
	}
	wasAdopted := meta.IsStatusConditionTrue(before.Conditions, v1.ConditionAdopted)
	if adopted := meta.FindStatusCondition(after.Conditions, v1.ConditionAdopted); adopted != nil && !wasAdopted {
		o.Events.Eventf(object, nil, corev1.EventTypeNormal, "Adopted", "Sync", "%s", adopted.Message)
	}
}
