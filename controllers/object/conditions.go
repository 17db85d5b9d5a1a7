package object

import (
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// maxMessage is how long the message of a condition is, which people read, in bytes.
const maxMessage = 4096

// Conditions sets the conditions of one generation of an object. Their transition times
// move with their status only.
type Conditions struct {
	List       *[]metav1.Condition
	Generation int64
}

// Set says that a condition is true or not.
func (c Conditions) Set(kind string, value bool, reason, message string) {
	status := metav1.ConditionFalse
	if value {
		status = metav1.ConditionTrue
	}
	c.SetStatus(kind, status, reason, message)
}

// SetStatus is Set for a condition whose status may be Unknown.
func (c Conditions) SetStatus(kind string, status metav1.ConditionStatus, reason, message string) {
	meta.SetStatusCondition(c.List, metav1.Condition{
		Type: kind, Status: status, Reason: reason, Message: Shorten(message, maxMessage), ObservedGeneration: c.Generation,
	})
}

// Remove says nothing of a condition.
func (c Conditions) Remove(kind string) { meta.RemoveStatusCondition(c.List, kind) }

// Shorten keeps a text within a number of bytes, and an ellipsis, without cutting a
// character.
func Shorten(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	for limit > 0 && !utf8.RuneStart(text[limit]) {
		limit--
	}
	return text[:limit] + "…"
}
