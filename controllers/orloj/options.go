package orloj

import (
	"time"

	"k8s.io/client-go/tools/events"

	"github.com/lintel-policy/lintel/controllers/orloj/store"
	"github.com/lintel-policy/lintel/policies/rules"
)

// Options are what the controllers of this package need.
type Options struct {
	// Store is where rows are written.
	Store *store.Store
	// Admitter is asked before anything is written for an object.
	Admitter rules.Admitter
	// Cluster is the identity of this cluster in rows; empty is the uid of its namespace
	// kube-system.
	Cluster string
	// Events receives what changes about objects.
	Events events.EventRecorder
	// StatusInterval is how often the phases of rows are read; DriftInterval how often
	// all rows are compared, and permanent errors are tried again.
	StatusInterval, DriftInterval time.Duration
	// CreateTables makes the tables where orlojd has never run.
	CreateTables bool
	// Workers is how many objects of a kind are carried at a time; 0 is 24.
	Workers int
}

const defaultWorkers = 24
