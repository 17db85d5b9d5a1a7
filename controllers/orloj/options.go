package orloj

import (
	"time"

	"k8s.io/client-go/tools/events"

	"github.com/lintel-policy/lintel/controllers/orloj/store"
	"github.com/lintel-policy/lintel/policies/rules"
)

// options are what the controllers of this package need.
type options struct {
	// store is where rows are written.
	store *store.Store
	// admit is asked before anything is written for an object.
	admit rules.Admitter
	// cluster is the identity of this cluster in rows; empty is the uid of its namespace
	// kube-system.
	cluster string
	// events receives what changes about objects.
	events events.EventRecorder
	// statusInterval is how often the phases of rows are read; driftInterval how often
	// all rows are compared, and permanent errors are tried again.
	statusInterval, driftInterval time.Duration
	// createTables makes the tables where orlojd has never run.
	createTables bool
}

// workers is how many objects of a kind are carried at a time.
const workers = 24
