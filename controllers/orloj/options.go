package orloj

import (
	"k8s.io/client-go/tools/events"

	"github.com/lintel-policy/lintel/controllers/orloj/store"
	"github.com/lintel-policy/lintel/policies/rules"
)

// options are what the controllers of this package need.
type options struct {
	settings
	// store is where rows are written.
	store *store.Store
	// admit is asked before anything is written for an object.
	admit rules.Admitter
	// events receives what changes about objects.
	events events.EventRecorder
}

// workers is how many objects of a kind are carried at a time.
const workers = 24
