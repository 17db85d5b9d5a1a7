package policy

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lintel-policy/lintel/api/policy/v1alpha1"
)

// change is worth an Event.
type change struct{ kind, reason, message string }

// news are the conditions that turned, or are what they were for another reason.
// Progress on the way is no news.
func news(before []metav1.Condition, next v1alpha1.PolicySourceStatus) []change {
	var out []change
	for _, kind := range []string{v1alpha1.ConditionReady, v1alpha1.ConditionWithinLimits} {
		now, was := meta.FindStatusCondition(next.Conditions, kind), meta.FindStatusCondition(before, kind)
		switch {
		case now == nil, now.Reason == ReasonProgressing:
		case was == nil && now.Reason == ReasonWithinLimits:
		case was != nil && was.Status == now.Status && was.Reason == now.Reason && was.ObservedGeneration == now.ObservedGeneration &&
			(now.Status == metav1.ConditionTrue || was.Message == now.Message):
		case kind == v1alpha1.ConditionWithinLimits && was != nil && was.Status == now.Status:
		case now.Status == metav1.ConditionTrue:
			out = append(out, change{corev1.EventTypeNormal, now.Reason, now.Message})
		default:
			out = append(out, change{corev1.EventTypeWarning, now.Reason, now.Message})
		}
	}
	return out
}
