package openzro

import (
	"context"
	"slices"

	v1 "github.com/lintel-policy/lintel/api/openzro/v1"
	"github.com/lintel-policy/lintel/controllers/openzro/management"
)

// router creates or updates the router through which the clients reach the network. A router has
// no description that could name its owner, so the status records the creation before it
// happens.
func (p *routingPeers) router(ctx context.Context, t *task[*v1.OZRoutingPeer], network, group string) error {
	all := t.Routers(network)
	if err := all.Load(ctx); err != nil {
		return err
	}
	status := &t.next.Status
	if _, _, err := all.Confirm(ctx, status.RouterID); err != nil {
		return err
	}
	have, found := routerOf(all, status.RouterID, group)
	if !found {
		return p.createRouter(ctx, t, all, wantedRouter(group))
	}
	if err := p.useRouter(ctx, t, have); err != nil {
		return err
	}
	if sameRouter(have, wantedRouter(group)) {
		return nil
	}
	_, err := all.Update(ctx, have.ID, wantedRouter(group))
	return t.counted("update", err)
}

// routerMetric is the metric of routers: those that an administrator has created have
// precedence.
const routerMetric = 9999

func wantedRouter(group string) management.RouterRequest {
	return management.RouterRequest{Enabled: true, Masquerade: true, Metric: routerMetric, PeerGroups: []string{group}}
}

// useRouter notes a router in the status, and adopts one that the object did not create.
func (p *routingPeers) useRouter(ctx context.Context, t *task[*v1.OZRoutingPeer], have management.Router) error {
	status := &t.next.Status
	ours := have.ID == status.RouterID || isCreating(t.next)
	conditionsOf(t.next).Remove(v1.ConditionCreating)
	if ours {
		status.RouterID = have.ID
		return nil
	}
	foreign := remoteItem{kind: kindRouter, id: have.ID, name: p.networkName(t.object.Namespace)}
	if !v1.MayAdopt(t.object) {
		return refuseAdoption(foreign)
	}
	return adopt(ctx, t, foreign, &status.RouterID, routerRequestOf(have))
}

func routerRequestOf(r management.Router) management.RouterRequest {
	return management.RouterRequest{Enabled: r.Enabled, Masquerade: r.Masquerade, Metric: r.Metric, PeerGroups: r.PeerGroups}
}

// createRouter creates a router.
func (p *routingPeers) createRouter(ctx context.Context, t *task[*v1.OZRoutingPeer], all *management.Collection[management.Router], request management.RouterRequest) error {
	return createRecorded(ctx, t, kindRouter, &t.next.Status.RouterID, func() (string, error) {
		made, err := all.Create(ctx, request)
		return made.ID, err
	})
}

// routerOf is the router of the peers of a group, which is one object's: that of an ID, else
// the one that has this group alone.
func routerOf(all *management.Collection[management.Router], id, group string) (have management.Router, found bool) {
	if have, found = all.Get(id); found {
		return have, true
	}
	for _, one := range all.All() {
		if group != "" && slices.Equal(one.PeerGroups, []string{group}) {
			return one, true
		}
	}
	return have, false
}

func sameRouter(have management.Router, wanted management.RouterRequest) bool {
	return have.Enabled == wanted.Enabled && have.Masquerade == wanted.Masquerade && have.Metric == wanted.Metric &&
		have.Peer == "" && slices.Equal(have.PeerGroups, wanted.PeerGroups)
}

func (p *routingPeers) removeRouter(ctx context.Context, t *task[*v1.OZRoutingPeer], network string) error {
	all := t.Routers(network)
	if err := all.Load(ctx); err != nil {
		return err
	}
	status := &t.next.Status
	if _, _, err := all.Confirm(ctx, status.RouterID); err != nil {
		return err
	}
	if status.RouterID == "" && isCreating(t.next) && status.GroupID != "" {
		absent, err := all.Absent(ctx, string(t.object.UID), func(r management.Router) bool { return slices.Equal(r.PeerGroups, []string{status.GroupID}) })
		if err != nil || absent {
			return err
		}
	}
	router, found := routerOf(all, status.RouterID, status.GroupID)
	if !found && status.RouterID == "" && isCreating(t.next) && status.GroupID != "" {
		return inFlight(kindRouter)
	}
	if !found || router.ID != status.RouterID && !isCreating(t.next) {
		return nil
	}
	if _, adopted := adoptionOf(t.next, router.ID); adopted {
		return releaseRouter(ctx, t, all, router)
	}
	return t.counted("delete", all.Remove(ctx, router.ID))
}

// releaseRouter restores a router that an object has adopted.
func releaseRouter(ctx context.Context, t *task[*v1.OZRoutingPeer], all *management.Collection[management.Router], have management.Router) error {
	former, known := formerOf[management.RouterRequest](t.next, have.ID)
	outcome := outcomeRestored
	if !known {
		former, outcome = routerRequestOf(have), outcomeUnknown
		former.Enabled = false
	}
	if !sameRouter(have, former) {
		if _, err := all.Update(ctx, have.ID, former); err != nil {
			return gone(err, all.Forget)
		}
		t.made("update")
	}
	t.next.Status.RouterID = ""
	released(t, remoteItem{kind: kindRouter, id: have.ID}, outcome)
	return nil
}
