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

// outcomeAnnotations say on a Secret what became of it, where before are those that it has.
func outcomeAnnotations(b built, before map[string]string) map[string]string {
	annotations := map[string]string{
		v1alpha1.StatusAnnotation:  string(b.outcome.status),
		v1alpha1.MessageAnnotation: messageOf(b.outcome, before),
		recordAnnotation:           b.record.String(),
	}
	if version := b.record.version(); version != "" {
		annotations[v1alpha1.SyncedVersionAnnotation] = version
	}
	return annotations
}

// sinceFormat ends the message of what began some time ago.
const sinceFormat = " (since %s)"

// messageOf is the message with the time at which it began to be true: as the Secret says it
// already, since replicas notice at different times.
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

// eventOf is what people are to hear of a Secret: nil where its outcome is as before.
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
