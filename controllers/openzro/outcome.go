package openzro

import (
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/lintel-policy/lintel/api/openzro/v1"
	"github.com/lintel-policy/lintel/controllers/attempt"
	"github.com/lintel-policy/lintel/controllers/object"
	"github.com/lintel-policy/lintel/controllers/openzro/management"
)

// patience is how long a deleted object waits for dependent items at the server.
const patience = time.Minute

// refusesKey reports whether a reason is a missing or invalid key.
func refusesKey(reason string) bool {
	return reason == v1.ReasonNoKey || reason == v1.ReasonUnauthorized || reason == v1.ReasonForbidden
}

// isLate says whether an object has waited long enough for what links to it. A server that
// was down meanwhile does not count.
func (r *reconciler[T, S]) isLate(uid types.UID) bool {
	since, _ := r.linked.LoadOrStore(uid, r.now())
	return r.now().Sub(since.(time.Time)) > patience
}

// reportError is the report of an attempt that ended with an error, or with none.
func (r *reconciler[T, S]) reportError(t *task[T], err error) (object.Report[S], error) {
	if known := problemOf(err, t.by); known != nil {
		return r.outcome(t, known, nil)
	}
	return r.outcome(t, nil, err)
}

// outcome is what the status of an object says after a try. An object that was carried out
// says nothing of an outage.
func (r *reconciler[T, S]) outcome(t *task[T], p *problem, failure error) (object.Report[S], error) {
	name := client.ObjectKeyFromObject(t.object)
	if object.Passes(failure) {
		return object.Report[S]{}, failure
	}
	again := t.again
	o := r.outageOf(t.Tenant)
	switch {
	case failure != nil:
		setStatus(t.next, &problem{reason: v1.ReasonAPIError, message: failure.Error()}, "", o)
	case p != nil:
		again = attempt.Jitter(p.again*3/2, 2.0/3) // what waits together does not try together
		passes := p.passes && isReconciled(t.object) && t.object.GetDeletionTimestamp().IsZero()
		if p.quiet || passes && o.since.IsZero() {
			return object.Report[S]{Again: again}, nil
		}
		if passes {
			p = nil // of the server, and not of the object
		}
		setStatus(t.next, p, "", o)
	default:
		setStatus(t.next, nil, t.says, o)
	}
	if !o.since.IsZero() && (again == 0 || again > r.interval) {
		// The keeper wakes objects when it sees that the server is read again. It does not see a
		// delay that is over before it looks.
		again = attempt.Jitter(r.interval, 0.2)
	}
	r.metrics.says(r.kind, name, p != nil || failure != nil || !o.since.IsZero())
	return object.Report[S]{Status: r.status(t.next), Again: again}, failure
}

// outageOf is the outage of a tenant whose server has not been read for some intervals.
func (r *reconciler[T, S]) outageOf(tenant *management.Tenant) (o outage) {
	if tenant == nil || !tenant.IsStale(staleIntervals*r.interval) {
		return o
	}
	o.since = tenant.UnreadSince()
	if e := tenant.Outage(); e != nil {
		o.cause = e.Error()
	}
	return o
}
