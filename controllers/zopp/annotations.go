package zopp

import (
	"fmt"
	"strings"
	"time"

	v1alpha1 "github.com/lintel-policy/lintel/api/zopp/v1alpha1"
	"github.com/lintel-policy/lintel/controllers/object"
)

// maxMessage is how long the message on a Secret is, in bytes.
const maxMessage = 2048

// ourAnnotations are those that are written to Secrets.
var ourAnnotations = []string{v1alpha1.StatusAnnotation, v1alpha1.MessageAnnotation, v1alpha1.SyncedVersionAnnotation, recordAnnotation}

// outcomeAnnotations returns the annotations that report the outcome of a Secret. before are its
// current annotations.
func outcomeAnnotations(desired desiredSecret, before map[string]string) map[string]string {
	annotations := map[string]string{
		v1alpha1.StatusAnnotation:  string(desired.outcome.status),
		v1alpha1.MessageAnnotation: messageOf(desired.outcome, before),
		recordAnnotation:           desired.record.String(),
	}
	if version := desired.record.version(); version != "" {
		annotations[v1alpha1.SyncedVersionAnnotation] = version
	}
	return annotations
}

// sinceFormat is the suffix of a message with the time at which a problem began.
const sinceFormat = " (since %s)"

// messageOf returns the message with the time at which the problem began. It keeps the time that
// the Secret already reports, since replicas detect a problem at different times.
func messageOf(o outcome, before map[string]string) string {
	message := object.Shorten(o.message, maxMessage)
	if o.since.IsZero() {
		return message
	}
	was := before[v1alpha1.MessageAnnotation]
	if said, is := strings.CutPrefix(was, message); is && strings.HasPrefix(said, " (since ") {
		return was
	}
	return message + fmt.Sprintf(sinceFormat, o.since.UTC().Format(time.RFC3339))
}

// eventOf returns the Event for a Secret: nil if its outcome is unchanged.
func eventOf(o outcome, before map[string]string) *object.Event {
	was := v1alpha1.SyncStatus(before[v1alpha1.StatusAnnotation])
	if was == o.status && (!o.failed() || messageOf(o, before) == before[v1alpha1.MessageAnnotation]) {
		return nil
	}
	return &object.Event{Warning: o.failed(), Reason: reasonOf(o), Message: o.message}
}

// reasonOf is the reason of Events.
func reasonOf(o outcome) string {
	if o.failed() {
		return o.reason
	}
	return string(v1alpha1.StatusSynced)
}
