package zopp

import (
	"time"

	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/cluster"

	"github.com/lintel-policy/lintel/controllers/system"
	"github.com/lintel-policy/lintel/controllers/zopp/store"
	"github.com/lintel-policy/lintel/policies/rules"
)

// options are what the controllers of this package need.
type options struct {
	// store is where values are read.
	store *store.Store
	// pollInterval is how often an environment is read that says nothing.
	pollInterval time.Duration
	// admit is asked before anything is read for an object.
	admit rules.Admitter
	// events receives what changes about objects.
	events events.EventRecorder
	// secretSyncs says whether ZoppSecretSyncs are carried out, and reload whether workloads
	// are rolled. Where they are not, their kinds and permissions may be missing.
	secretSyncs, reload bool
}

// addControllers adds the controllers to a manager, with the cluster of newCluster. They run
// on the leader.
func addControllers(system.Manager, cluster.Cluster, options) error { return nil }
