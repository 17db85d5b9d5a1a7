package openclaw

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/lintel-policy/lintel/api/openclaw/v1"
)

// conditions sets the conditions of one generation.
type conditions struct {
	list       *[]metav1.Condition
	generation int64
}

func (c conditions) set(kind string, value bool, reason, message string) {
	status := metav1.ConditionFalse
	if value {
		status = metav1.ConditionTrue
	}
	meta.SetStatusCondition(c.list, metav1.Condition{
		Type: kind, Status: status, Reason: reason, Message: shorten(message), ObservedGeneration: c.generation,
	})
}

// admitted says what policies think of the object; nothing, where nobody asks them.
func (c conditions) admitted(asked bool, denied *problem) {
	switch {
	case !asked:
		meta.RemoveStatusCondition(c.list, v1.ConditionAdmitted)
	case denied != nil:
		c.set(v1.ConditionAdmitted, false, denied.reason, denied.message)
	default:
		c.set(v1.ConditionAdmitted, true, "Admitted", "no policy denies the object")
	}
}

// shorten keeps a message within what a condition holds and people read.
func shorten(message string) string {
	const limit = 4096
	if len(message) <= limit {
		return message
	}
	return message[:limit] + "…"
}

// tell sends an Event for each condition of the types that turned, or that is what it
// was for another reason.
func tell(recorder events.EventRecorder, object client.Object, before, after []metav1.Condition, bad map[string]metav1.ConditionStatus) {
	for _, now := range after {
		worse, told := bad[now.Type]
		was := meta.FindStatusCondition(before, now.Type)
		switch {
		case !told, was == nil && now.Status != worse:
		case was != nil && was.Status == now.Status && (was.Reason == now.Reason || now.Status != worse):
		case now.Status == worse:
			recorder.Eventf(object, nil, corev1.EventTypeWarning, now.Reason, "Reconcile", "%s", now.Message)
		default:
			recorder.Eventf(object, nil, corev1.EventTypeNormal, now.Reason, "Reconcile", "%s", now.Message)
		}
	}
}
