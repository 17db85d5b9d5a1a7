package zopp

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/lintel-policy/lintel/api/zopp/v1alpha1"
	"github.com/lintel-policy/lintel/controllers/object"
	"github.com/lintel-policy/lintel/controllers/zopp/store"
)

// Reasons of conditions, in addition to those of the API.
const (
	reasonAdmitted = "Admitted"
	reasonPending  = "Pending"
	reasonNotOwned = "NotOwned"
)

// syncFacts is the input for the status of a ZoppSecretSync.
type syncFacts struct {
	// denied is the denial of the rules, if any.
	denied string
	// foreign is a Secret of another owner with the name of the desired one.
	foreign *object.Foreign
	// resolution is the desired state of the Secret. exists reports that the Secret exists, and
	// changed that its values were changed.
	resolution
	exists, changed bool
}

// syncStatus returns the next status of a ZoppSecretSync. It changes only with its input.
func syncStatus(sync *v1alpha1.ZoppSecretSync, f syncFacts, now time.Time) v1alpha1.ZoppSecretSyncStatus {
	next := *sync.Status.DeepCopy()
	next.ObservedGeneration = sync.Generation
	c := object.Conditions{List: &next.Conditions, Generation: sync.Generation}
	if f.denied != "" {
		c.Set(v1alpha1.ConditionAdmitted, false, v1alpha1.ReasonDenied, f.denied)
		reportFailed(c, v1alpha1.ReasonDenied, f.denied, true)
		return next
	}
	c.Set(v1alpha1.ConditionAdmitted, true, reasonAdmitted, "no rule denies the object")
	switch {
	case sync.Spec.Suspend:
		reportFailed(c, v1alpha1.ReasonSuspended, "spec.suspend is set: the Secret stays as it is", false)
	case f.foreign != nil:
		message := fmt.Sprintf("Secret %s does not belong to this object and is left alone: take another name in spec.target.secretName, or delete that one", f.foreign.Name)
		reportFailed(c, reasonNotOwned, message, true)
	case !f.ready:
		if meta.FindStatusCondition(next.Conditions, v1alpha1.ConditionReady) == nil {
			c.SetStatus(v1alpha1.ConditionReady, metav1.ConditionUnknown, reasonPending, "zopp has not answered yet")
		}
	default:
		reportSynced(&next, c, sync, f, now)
	}
	return next
}

// reportFailed reports why the Secret differs from the desired state. stalled means that a user has to
// change something.
func reportFailed(c object.Conditions, reason, message string, stalled bool) {
	c.Set(v1alpha1.ConditionReady, false, reason, message)
	if stalled {
		c.Set(v1alpha1.ConditionStalled, true, reason, message)
	} else {
		c.Remove(v1alpha1.ConditionStalled)
	}
}

// reportSynced reports the result of a sync.
func reportSynced(next *v1alpha1.ZoppSecretSyncStatus, c object.Conditions, sync *v1alpha1.ZoppSecretSync, f syncFacts, now time.Time) {
	if f.exists {
		name := targetOf(sync)
		next.Target = &v1alpha1.WrittenTarget{Namespace: name.Namespace, SecretName: name.Name}
		next.SecretCount = int32(f.outcome.keys)
	}
	if f.changed || f.exists && next.LastSyncTime == nil {
		next.LastSyncTime = &metav1.Time{Time: now.Truncate(time.Second)}
		if n := len(f.record.Versions); n > 0 {
			next.LastSyncVersion = f.record.Versions[n-1]
		}
	}
	if !f.outcome.failed() {
		c.Set(v1alpha1.ConditionReady, true, v1alpha1.ReasonSyncSuccess, f.outcome.message)
		c.Remove(v1alpha1.ConditionStalled)
		return
	}
	message := f.outcome.message
	if !f.exists {
		message = fmt.Sprintf("there is no Secret yet: %s", message)
	}
	reason, stalled := conditionReason(f.outcome.reason)
	reportFailed(c, reason, message, stalled)
}

// conditionReason is the reason of a condition for that of an outcome, and whether trying
// again alone does not help.
func conditionReason(reason string) (of string, stalled bool) {
	switch store.Reason(reason) {
	case store.ReasonUnreachable, store.ReasonServerFailed, store.ReasonEnded:
		return v1alpha1.ReasonConnectionFailed, false
	case store.ReasonUnauthenticated, store.ReasonInvalidCredentials:
		return v1alpha1.ReasonCredentialsInvalid, true
	case store.ReasonUndecryptable, v1alpha1.ReasonDecryptionFailed:
		return v1alpha1.ReasonDecryptionFailed, true
	}
	return v1alpha1.ReasonSyncFailed, true
}
