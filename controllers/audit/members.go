package audit

import (
	"context"
	"maps"
	"slices"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/lintel-policy/lintel/policies/audit"
)

const (
	// ShardAnnotation marks the Lease of a replica that audits. Its value identifies the process:
	// a replica that was started again has the same shards, and has evaluated nothing yet.
	ShardAnnotation = "lintel.dev/audit"
	// membersInterval is how often the Leases are compared.
	membersInterval = time.Second
	// settleTime is how long a replica whose own Lease had expired leaves the others their shards:
	// after an outage of the API server, all Leases have expired, and are renewed one by one.
	settleTime = 15 * time.Second
)

// membership contains the replicas that audit.
type membership struct {
	shards *audit.Shards
	// processes are the values of ShardAnnotation, by replica.
	processes map[string]string
	// held reports that the Lease of this replica is not in force: others may own its shards, so
	// it writes nothing. It keeps its results, in case the others were not there either.
	held bool
}

// sighting is the last renewal of a Lease that this replica has seen.
type sighting struct {
	renewed time.Time
	process string
	until   time.Time // by the clock of this replica
}

// members follows the Leases of the replicas. A Lease is in force for its duration after this
// replica has seen a renewal: the clocks of other nodes do not matter, and a clock that jumps does
// not either. Only the age of a Lease that was never seen before is read from its renewal.
type members struct {
	self   string
	leases func(context.Context) ([]coordinationv1.Lease, error)
	now    func() time.Time
	apply  func(membership)

	sightings map[string]sighting
	current   membership
	since     time.Time // when the Lease of this replica came into force; zero while it is not
}

// Start implements manager.Runnable on every replica.
func (m *members) Start(ctx context.Context) error {
	ticker := time.NewTicker(membersInterval)
	defer ticker.Stop()
	for {
		leases, err := m.leases(ctx)
		switch {
		case err == nil:
			m.apply(m.observe(leases))
		case ctx.Err() == nil:
			log.FromContext(ctx).Error(err, "listing the Leases of the replicas that audit")
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

// observe returns the membership by the present Leases.
func (m *members) observe(leases []coordinationv1.Lease) membership {
	now := m.now()
	m.see(leases, now)
	processes := map[string]string{}
	for name, seen := range m.sightings {
		if now.Before(seen.until) {
			processes[name] = seen.process
		}
	}
	if processes[m.self] == "" {
		m.since, m.current.held = time.Time{}, true
		return m.current
	}
	if m.since.IsZero() {
		m.since = now
	}
	if before := m.current.shards; before != nil && now.Sub(m.since) < settleTime {
		for _, name := range before.Members() {
			if seen, present := m.sightings[name]; present {
				processes[name] = seen.process
			}
		}
	}
	names := slices.Collect(maps.Keys(processes))
	m.current = membership{shards: audit.NewShards(m.self, names), processes: processes}
	return m.current
}

// see records the renewals.
func (m *members) see(leases []coordinationv1.Lease, now time.Time) {
	next := make(map[string]sighting, len(leases))
	for i := range leases {
		spec, process := leases[i].Spec, leases[i].Annotations[ShardAnnotation]
		if process == "" || spec.HolderIdentity == nil || spec.RenewTime == nil || spec.LeaseDurationSeconds == nil {
			continue
		}
		name, duration := *spec.HolderIdentity, time.Duration(*spec.LeaseDurationSeconds)*time.Second
		before, known := m.sightings[name]
		switch {
		case !known: // it may have expired long ago
			left := min(max(spec.RenewTime.Add(duration).Sub(now), 0), duration)
			next[name] = sighting{spec.RenewTime.Time, process, now.Add(left)}
		case !before.renewed.Equal(spec.RenewTime.Time):
			next[name] = sighting{spec.RenewTime.Time, process, now.Add(duration)}
		default:
			next[name] = sighting{before.renewed, process, before.until}
		}
	}
	m.sightings = next
}
