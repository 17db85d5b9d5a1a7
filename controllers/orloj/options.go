package orloj

import (
	"context"
	"time"

	"k8s.io/client-go/tools/events"

	v1 "github.com/lintel-policy/lintel/api/orloj/v1"
	"github.com/lintel-policy/lintel/controllers/orloj/store"
	"github.com/lintel-policy/lintel/policies/rules"
)

// Judge asks the rules about a stored object: it may be older than they are, and the
// permission of its namespace may have been withdrawn. An error means that no answer was
// found.
type Judge func(ctx context.Context, kind string, object v1.Object) (rules.Verdict, error)

// Options are what the controllers of this package need.
type Options struct {
	// Store is where rows are written.
	Store *store.Store
	// Judge is asked before anything is written for an object.
	Judge Judge
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
