package orloj

import (
	"k8s.io/client-go/tools/events"

	"github.com/lintel-policy/lintel/controllers/orloj/store"
	"github.com/lintel-policy/lintel/policies/rules"
)

// options are the dependencies of the controllers.
type options struct {
	settings
	// store is the store of the rows.
	store *store.Store
	// admit is evaluated before anything is written for an object.
	admit rules.Admitter
	// events receives the Events of objects.
	events events.EventRecorder
}

// workers is the number of objects of a kind that are reconciled concurrently.
const workers = 24
