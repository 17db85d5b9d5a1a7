package orloj

import (
	"fmt"
	"regexp"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/lintel-policy/lintel/api/orloj/v1"
	"github.com/lintel-policy/lintel/controllers/object"
	"github.com/lintel-policy/lintel/controllers/orloj/store"
)

// Reasons of conditions, in addition to those of store.Problem.
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

// outcome is the result of one try to store an object.
type outcome struct {
	// denied are the violations of the rules.
	denied string
	// problem is the reason why the row was not written.
	problem *store.Problem
	// result is the result for the row at key, if neither is set.
	result store.Result
	key    string
	// moved reports that a row under another key was deleted.
	moved bool
	// keeps reports that orlojd is known to keep every field of the row.
	keeps bool
}

// nextStatus returns the status after a try. It contains nothing that changes with time, so a
// retry with the same outcome does not write the status again.
func nextStatus(object v1.Object, o outcome, now time.Time) v1.Status {
	next := *object.SyncStatus().DeepCopy()
	next.ObservedGeneration = object.GetGeneration()
	c := statusConditions(&next, object)
	if o.denied == "" {
		c.Set(v1.ConditionAdmitted, true, reasonAdmitted, "no rule denies the object")
	}
	switch {
	case o.denied != "":
		c.Set(v1.ConditionAdmitted, false, reasonDenied, o.denied)
		failed(&next, c, reasonNotAdmitted, o.denied, true)
	case o.problem != nil:
		if o.problem.Unavailable() {
			c.Set(v1.ConditionStoreAvailable, false, o.problem.Reason, o.problem.Message)
		} else {
			c.Remove(v1.ConditionStoreAvailable)
		}
		failed(&next, c, o.problem.Reason, o.problem.Message, o.problem.Permanent())
		if ofAnother[o.problem.Reason] && next.StoreKey == o.key {
			next.StoreKey = ""
		}
	default:
		// A condition that is true for every object costs writes and has no information.
		c.Remove(v1.ConditionStoreAvailable)
		synced(&next, c, o, now)
	}
	return next
}

// ofAnother are the reasons that report that an object has no row.
var ofAnother = map[string]bool{
	store.ReasonTaken: true, store.ReasonCluster: true, store.ReasonReleased: true, store.ReasonGenerated: true,
}

func failed(next *v1.Status, c object.Conditions, reason, message string, stalled bool) {
	next.Phase, next.SyncError = v1.PhaseSyncError, object.Shorten(message, maxSyncError)
	c.Set(v1.ConditionSynced, false, reason, message)
	c.Set(v1.ConditionReady, false, reason, message)
	if stalled {
		c.Set(v1.ConditionStalled, true, reason, message)
	} else {
		c.Remove(v1.ConditionStalled)
	}
}

func synced(next *v1.Status, c object.Conditions, o outcome, now time.Time) {
	next.Phase, next.SyncError = v1.PhaseSynced, ""
	if o.result.Written() || o.moved || next.LastSyncedAt == nil {
		next.LastSyncedAt = &metav1.Time{Time: now.Truncate(time.Second)}
	}
	reason, message := syncedAs(next, o)
	c.Set(v1.ConditionSynced, true, reason, message)
	c.Set(v1.ConditionReady, true, reason, message)
	c.Remove(v1.ConditionStalled)
	// A row that lost its owner belonged to this object before, not to another one.
	if o.result.Adopted && next.StoreKey != o.key {
		c.Set(v1.ConditionAdopted, true, reasonRowExisted, fmt.Sprintf(
			"the row %s was in the store before and is this object's now; annotation %s: %s leaves it there when the object is deleted",
			o.key, v1.DeletionPolicyAnnotation, v1.Retain))
	} else if next.StoreKey != "" && next.StoreKey != o.key {
		c.Remove(v1.ConditionAdopted)
	}
	next.StoreKey = o.key
	storePhase(c, o.result.Phase, o.result.LastError)
}

// syncedAs returns where an object is stored, and which of its fields orlojd does not keep. Lost
// fields are reported until orlojd is known to keep them: a row that was just written proves
// nothing.
func syncedAs(before *v1.Status, o outcome) (reason, message string) {
	switch {
	case len(o.result.NotKept) > 0:
		return reasonNotKept, fmt.Sprintf("stored as %s, but this orlojd does not keep spec.%s: it was gone twice after it had been written, and has no effect; take it out, or upgrade orlojd",
			o.key, strings.Join(o.result.NotKept, ", spec."))
	case reportsNotKept(before) && before.StoreKey == o.key && !o.keeps:
		return reasonNotKept, meta.FindStatusCondition(before.Conditions, v1.ConditionSynced).Message
	}
	return reasonSynced, "stored as " + o.key
}

// reportsNotKept reports whether a status lists fields that orlojd does not keep.
func reportsNotKept(s *v1.Status) bool {
	synced := meta.FindStatusCondition(s.Conditions, v1.ConditionSynced)
	return synced != nil && synced.Reason == reasonNotKept
}

func statusConditions(s *v1.Status, of v1.Object) object.Conditions {
	return object.Conditions{List: &s.Conditions, Generation: of.GetGeneration()}
}

// reasonPattern matches valid reasons of conditions.
var reasonPattern = regexp.MustCompile(`^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$`)

// storePhase sets the condition with the phase that orlojd sets on the row; it is independent of
// the sync.
func storePhase(c object.Conditions, phase, lastError string) {
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
	c.SetStatus(v1.ConditionStorePhase, status, reason, message)
}

// maxSyncError is the maximum length of status.syncError, in bytes.
const maxSyncError = 4096

// news maps the types of conditions to their Events.
var news = map[string]object.News{v1.ConditionSynced: syncing, v1.ConditionAdopted: adopting}

// syncing sends Events for objects that are no longer synced, synced again, or synced in part.
func syncing(was, now *metav1.Condition) *object.Event {
	if now.Reason != reasonNotKept {
		return object.Turned(metav1.ConditionFalse)(was, now)
	}
	if was != nil && was.Message == now.Message {
		return nil
	}
	return &object.Event{Warning: true, Reason: now.Reason, Message: now.Message}
}

// adopting sends an Event for an adopted row.
func adopting(was, now *metav1.Condition) *object.Event {
	if was != nil && was.Status == metav1.ConditionTrue {
		return nil
	}
	return &object.Event{Reason: "Adopted", Message: now.Message}
}
