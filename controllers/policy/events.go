package policy

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lintel-policy/lintel/api/policy/v1alpha1"
	"github.com/lintel-policy/lintel/controllers/object"
)

// news maps the types of a source's conditions to their Events.
var news = map[string]object.News{
	v1alpha1.ConditionReady:        readiness,
	v1alpha1.ConditionWithinLimits: object.Turned(metav1.ConditionFalse),
	v1alpha1.ConditionComplete:     object.Turned(metav1.ConditionFalse),
}

// readiness sends an Event for each revision that is served, and for each one that is not, with
// its reasons. Progress in between sends no Event.
func readiness(was, now *metav1.Condition) *object.Event {
	warning := now.Status != metav1.ConditionTrue
	changed := was == nil || was.Status != now.Status || was.Reason != now.Reason || was.ObservedGeneration != now.ObservedGeneration
	if now.Reason == ReasonProgressing || now.Reason == ReasonRehearsing || !changed && !(warning && was.Message != now.Message) {
		return nil
	}
	return &object.Event{Warning: warning, Reason: now.Reason, Message: now.Message}
}
