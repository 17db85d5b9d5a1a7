package policy

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	coordinationv1ac "k8s.io/client-go/applyconfigurations/coordination/v1"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/lintel-policy/lintel/policies/engine"
)

const (
	// replicaLabel is the label of the Leases of replicas.
	replicaLabel = "lintel.dev/replica"
	// servingAnnotation holds JSON {source: digest}.
	servingAnnotation = "lintel.dev/serving"
	// settingsAnnotation holds JSON {source: settings}: the settings that the replica serves
	// each source with.
	settingsAnnotation = "lintel.dev/settings"
	// externalAnnotation holds JSON {data source: digest}.
	externalAnnotation = "lintel.dev/external"
	// limitsAnnotation holds JSON {source: ["package: limit"]}.
	limitsAnnotation = "lintel.dev/limits"
	// notifiedAnnotation holds JSON {source: time}: when this replica received the last
	// push notification that was genuine.
	notifiedAnnotation = "lintel.dev/notified"
	// notCalledAnnotation holds why the API server does not call the webhooks for the
	// canary requests of this replica.
	notCalledAnnotation = "lintel.dev/not-called"

	reportInterval = 10 * time.Second
	// reportExpiry is how long a replica counts as live after its last report.
	reportExpiry = 3 * reportInterval
	// limitsMemory is how long a policy that reached a limit is reported.
	limitsMemory = 10 * time.Minute
)

// replicaReport is the content of a replica's report.
type replicaReport struct {
	replica string
	digests map[string]string // by source
	// external maps DataSources to the digests of the data that the replica serves.
	external map[string]string
	// settings maps sources to digests of their settings: nil if a replica does not report them.
	settings map[string]string
	limits   map[string][]string // by source: what reached a limit in the last minutes
	// notified maps sources to their last push notifications.
	notified map[string]string
	// notCalled is why the API server does not call the webhooks for the replica's canary
	// requests; empty if it does.
	notCalled string
	renewed   time.Time
}

// parseReport reads a Lease. It returns false if the Lease is not a replica's report.
func parseReport(lease *coordinationv1.Lease) (replicaReport, bool) {
	r := replicaReport{replica: lease.Labels[replicaLabel], digests: map[string]string{}}
	if r.replica == "" || lease.Spec.RenewTime == nil {
		return r, false
	}
	r.renewed, r.notCalled = lease.Spec.RenewTime.Time, lease.Annotations[notCalledAnnotation]
	for annotation, into := range map[string]any{settingsAnnotation: &r.settings, limitsAnnotation: &r.limits, notifiedAnnotation: &r.notified, externalAnnotation: &r.external} {
		if text, ok := lease.Annotations[annotation]; ok && json.Unmarshal([]byte(text), into) != nil {
			return r, false
		}
	}
	return r, json.Unmarshal([]byte(lease.Annotations[servingAnnotation]), &r.digests) == nil
}

// readReports returns the reports of the replicas, from their Leases.
func readReports(ctx context.Context, c client.Reader, namespace string) ([]replicaReport, error) {
	leases, err := leasesOf(ctx, c, namespace)
	if err != nil {
		return nil, err
	}
	var reports []replicaReport
	for i := range leases {
		if one, ok := parseReport(&leases[i]); ok {
			reports = append(reports, one)
		}
	}
	return reports, nil
}

// settingsOf returns the settings with which replicas serve a source, by replica.
func settingsOf(name string, reports []replicaReport) map[string]string {
	out := map[string]string{}
	for _, r := range reports {
		if r.settings != nil {
			out[r.replica] = r.settings[name]
		}
	}
	return out
}

// notificationsOf returns the last push notifications for one source, by replica.
func notificationsOf(name string, reports []replicaReport) map[string]string {
	out := map[string]string{}
	for _, r := range reports {
		if at := r.notified[name]; at != "" {
			out[r.replica] = at
		}
	}
	return out
}

// notCalledBy returns the reason of the first live replica that reports that the API server does
// not call the webhooks; empty if none does.
func notCalledBy(reports []replicaReport, now time.Time) string {
	for _, r := range reports {
		if r.notCalled != "" && now.Sub(r.renewed) <= reportExpiry {
			return "replica " + r.replica + ": " + r.notCalled
		}
	}
	return ""
}

// reporter writes the state of this replica to its own Lease: on change, and every ten seconds.
type reporter struct {
	client    client.Client
	live      *engine.Live
	namespace string
	replica   string
	podUID    string
	changed   chan struct{}
	// notCalled is why the API server does not call the webhooks.
	notCalled func() string
	// annotations are added to the Lease.
	annotations map[string]string

	mu       sync.Mutex        // over notified
	notified map[string]string // by source
}

// newReporter returns the reporter of a replica. With the uid of its Pod, the Lease is deleted
// with the Pod.
func newReporter(c client.Client, live *engine.Live, namespace, replica, podUID string) *reporter {
	r := &reporter{notCalled: func() string { return "" }, client: c, live: live, namespace: namespace, replica: replica, podUID: podUID, changed: make(chan struct{}, 1), notified: map[string]string{}}
	live.OnChange(func(*engine.Snapshot) { r.hurry() })
	return r
}

// notify informs the leader that the origin of a source has changed.
func (r *reporter) notify(source string) {
	r.mu.Lock()
	r.notified[source] = time.Now().UTC().Format(time.RFC3339Nano)
	r.mu.Unlock()
	r.hurry()
}

// hurry triggers a report. It never blocks: one pending report is enough for any number of
// changes.
func (r *reporter) hurry() { signal(r.changed, struct{}{}) }

func (r *reporter) notifications() map[string]string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.notified)
}

// Start implements manager.Runnable: every replica reports.
func (r *reporter) Start(ctx context.Context) error {
	ticker := time.NewTicker(reportInterval)
	defer ticker.Stop()
	for {
		if r.live.Snapshot() != nil {
			if err := r.write(ctx); err != nil && ctx.Err() == nil {
				log.FromContext(ctx).Error(err, "reporting what this replica serves")
			}
		}
		select {
		case <-ctx.Done():
			return r.withdraw()
		case <-ticker.C:
		case <-r.changed:
		}
	}
}

func (r *reporter) leaseName() string { return LeaseName(r.replica) }

// leasesOf lists the Leases of all replicas, also of those that have ended without deleting it.
func leasesOf(ctx context.Context, c client.Reader, namespace string) ([]coordinationv1.Lease, error) {
	var leases coordinationv1.LeaseList
	if err := c.List(ctx, &leases, client.InNamespace(namespace), client.HasLabels{replicaLabel}); err != nil {
		return nil, fmt.Errorf("listing the replicas' Leases: %w", err)
	}
	return leases.Items, nil
}

// LeaseName is the name of the Lease in which a replica reports.
func LeaseName(replica string) string { return "lintel-" + replica }

func (r *reporter) write(ctx context.Context) error {
	reached := map[string][]string{}
	for _, l := range r.live.Snapshot().ReachedLimits(time.Now().Add(-limitsMemory)) {
		reached[l.Source] = append(reached[l.Source], l.Package+": "+l.Limit)
	}
	annotations := maps.Clone(r.annotations)
	if annotations == nil {
		annotations = map[string]string{}
	}
	for name, value := range map[string]any{
		servingAnnotation: r.live.Digests(), settingsAnnotation: r.live.Settings(), limitsAnnotation: reached, notifiedAnnotation: r.notifications(),
		externalAnnotation: r.live.External().Digests(),
	} {
		text, err := json.Marshal(value)
		if err != nil {
			return err
		}
		annotations[name] = string(text)
	}
	if why := r.notCalled(); why != "" {
		annotations[notCalledAnnotation] = why
	}
	lease := coordinationv1ac.Lease(r.leaseName(), r.namespace).
		WithLabels(map[string]string{replicaLabel: r.replica}).
		WithAnnotations(annotations).
		WithSpec(coordinationv1ac.LeaseSpec().
			WithHolderIdentity(r.replica).
			WithLeaseDurationSeconds(int32(reportExpiry / time.Second)).
			WithRenewTime(metav1.NewMicroTime(time.Now())))
	if r.podUID != "" {
		lease.WithOwnerReferences(metav1ac.OwnerReference().
			WithAPIVersion("v1").WithKind("Pod").WithName(r.replica).WithUID(types.UID(r.podUID)))
	}
	if err := r.client.Apply(ctx, lease, client.FieldOwner("lintel-policy-report"), client.ForceOwnership); err != nil {
		return fmt.Errorf("applying Lease %s: %w", r.leaseName(), err)
	}
	return nil
}

// withdraw deletes the Lease, so that the leader does not wait for a replica that has ended.
func (r *reporter) withdraw() error {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: r.leaseName(), Namespace: r.namespace}}
	// A Lease that is not deleted expires.
	_ = r.client.Delete(ctx, lease)
	return nil
}
