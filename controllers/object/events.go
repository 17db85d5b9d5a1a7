package object

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
)

// maxNote is the maximum length of an Event's note, in bytes, without the ellipsis of a
// truncated note.
const maxNote = 1000

// Event is what people are to hear of an object.
type Event struct {
	Warning         bool
	Reason, Message string
}

// News is the Event for a condition that was not as it is now: nil for none. was is nil
// for one that is new.
type News func(was, now *metav1.Condition) *Event

// Turned is about a condition that has got the status that is bad, or has it for another
// reason; and about one that has it no more.
func Turned(bad metav1.ConditionStatus) News {
	return func(was, now *metav1.Condition) *Event {
		switch {
		case was == nil && now.Status != bad:
			return nil
		case was != nil && was.Status == now.Status && (now.Status != bad || was.Reason == now.Reason):
			return nil
		}
		return &Event{now.Status == bad, now.Reason, now.Message}
	}
}

// Reasoned is about a condition that has got another reason, as a warning where that is a
// fault.
func Reasoned(isFault func(reason string) bool) News {
	return func(was, now *metav1.Condition) *Event {
		if was != nil && was.Reason == now.Reason {
			return nil
		}
		return &Event{Warning: isFault(now.Reason), Reason: now.Reason, Message: now.Message}
	}
}

// Changes are the Events for conditions that have changed, by the News of their types.
func Changes(news map[string]News, before, after []metav1.Condition) (list []Event) {
	for i := range after {
		now := &after[i]
		if of := news[now.Type]; of != nil {
			if e := of(meta.FindStatusCondition(before, now.Type), now); e != nil {
				list = append(list, *e)
			}
		}
	}
	return list
}

// Send sends Events about an object.
func Send(recorder events.EventRecorder, object runtime.Object, action string, list ...Event) {
	for _, e := range list {
		kind := corev1.EventTypeNormal
		if e.Warning {
			kind = corev1.EventTypeWarning
		}
		recorder.Eventf(object, nil, kind, e.Reason, action, "%s", Shorten(e.Message, maxNote))
	}
}
