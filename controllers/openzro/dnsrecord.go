package openzro

import (
	"context"
	"net/netip"
	"strings"

	v1 "github.com/lintel-policy/lintel/api/openzro/v1"
	"github.com/lintel-policy/lintel/controllers/openzro/management"
)

// recordTTL is how long DNS records may be cached, in seconds.
const recordTTL = 300

// withdrawRecord removes the DNS record of a resource if its OZRoutingPeer names no zone or
// another one, or has no grant for the zone, which it returns as a problem.
func (n *networkResourceController) withdrawRecord(ctx context.Context, t *task[*v1.OZNetworkResource], peer *v1.OZRoutingPeer) error {
	if peer.Spec.DNSZoneRef == nil {
		return n.removeRecord(ctx, t)
	}
	if status, wanted := &t.next.Status, recordName(t.object, domainOf(peer)); status.DNSName != "" && status.DNSName != wanted {
		if err := n.removeRecord(ctx, t); err != nil {
			return err
		}
	}
	err := n.grants.mayUseZone(ctx, t, peer.Namespace, domainOf(peer))
	if isProblem(err) {
		return firstOf(n.removeRecord(ctx, t), err)
	}
	return err
}

// domainOf is the domain of the DNS zone of an OZRoutingPeer that names one.
func domainOf(peer *v1.OZRoutingPeer) string {
	return strings.ToLower(strings.TrimSuffix(peer.Spec.DNSZoneRef.Name, "."))
}

// record creates or updates the DNS record of a resource, in the zone of its OZRoutingPeer. A
// record has no description that could name its owner, so the status records the creation before
// it happens.
func (n *networkResourceController) record(ctx context.Context, t *task[*v1.OZNetworkResource], peer *v1.OZRoutingPeer, address string) error {
	status := &t.next.Status
	if peer.Spec.DNSZoneRef == nil {
		return nil
	}
	domain := domainOf(peer)
	zone, err := zoneOf(ctx, t.Tenant, domain)
	if err != nil {
		return err
	}
	if status.DNSZoneID != "" && status.DNSZoneID != zone {
		if err := n.removeRecord(ctx, t); err != nil {
			return err
		}
	}
	all, wanted := t.Records(zone), wantedRecord(t.object, domain, address)
	if err := all.Load(ctx); err != nil {
		return err
	}
	have, found, err := all.Confirm(ctx, status.DNSRecordID)
	if err != nil {
		return err
	}
	if !found {
		if have, found = recordByName(all, wanted.Name); found && !(isCreating(t.next) && have.RecordRequest == wanted) {
			return &problem{reason: v1.ReasonDuplicateName, again: refusedPause, message: "the resource is at the server, but zone " + domain + " already has the record " + wanted.Name + " (ID " + have.ID + "), which this object did not create: delete it at the server, or rename the Service"}
		}
	}
	status.DNSZoneID, status.DNSName = zone, wanted.Name
	if !found {
		return n.createRecord(ctx, t, all, wanted)
	}
	status.DNSRecordID = have.ID
	conditionsOf(t.next).Remove(v1.ConditionCreating)
	if have.RecordRequest == wanted {
		return nil
	}
	if _, err := all.Update(ctx, have.ID, wanted); err != nil {
		return gone(err, all.Forget)
	}
	t.made("update")
	return nil
}

// wantedRecord is the record of a resource in a domain.
func wantedRecord(of *v1.OZNetworkResource, domain, address string) management.RecordRequest {
	kind := "AAAA"
	if ip, err := netip.ParseAddr(address); err == nil && ip.Unmap().Is4() {
		kind = "A"
	}
	return management.RecordRequest{Name: recordName(of, domain), Type: kind, Content: address, TTL: recordTTL}
}

// recordName returns the name of the record of a resource in a domain: below the namespace of
// the Service, in any zone.
func recordName(of *v1.OZNetworkResource, domain string) string {
	return of.Spec.ServiceRef.Name + "." + of.Namespace + "." + domain
}

// recordByName returns a record by name, of any type.
func recordByName(all *management.Collection[management.Record], name string) (record management.Record, found bool) {
	named := all.Named(name)
	if len(named) == 0 {
		return record, false
	}
	return named[0], true
}

// zoneOf is the ID of the zone of a domain.
func zoneOf(ctx context.Context, t *management.Tenant, domain string) (string, error) {
	if err := t.Zones.Load(ctx); err != nil {
		return "", err
	}
	zones := t.Zones.Named(domain)
	if len(zones) == 0 {
		if _, err := t.Zones.Missed(ctx, domain); err != nil {
			return "", err
		}
		zones = t.Zones.Named(domain)
	}
	if len(zones) == 0 {
		return "", waiting(v1.ReasonDependency, "the resource is at the server, but the server has no DNS zone of the domain %s, which the OZRoutingPeer names in spec.dnsZoneRef: create it in the dashboard", domain)
	}
	return zones[0].ID, nil
}

// createRecord creates a record.
func (n *networkResourceController) createRecord(ctx context.Context, t *task[*v1.OZNetworkResource], all *management.Collection[management.Record], request management.RecordRequest) error {
	t.next.Status.DNSRecordID = ""
	return createRecorded(ctx, t, kindRecord, &t.next.Status.DNSRecordID, func() (string, error) {
		made, err := all.Create(ctx, request)
		return made.ID, err
	})
}

// removeRecord removes the record that was created for an object.
func (n *networkResourceController) removeRecord(ctx context.Context, t *task[*v1.OZNetworkResource]) error {
	status := &t.next.Status
	if status.DNSZoneID != "" {
		if err := n.removeRecordFrom(ctx, t, t.Records(status.DNSZoneID)); err != nil && !management.Is(err, management.NotFound) {
			return err // of a zone that is gone, nothing is left
		}
	}
	conditionsOf(t.next).Remove(v1.ConditionCreating)
	status.DNSZoneID, status.DNSRecordID, status.DNSName = "", "", ""
	return nil
}

func (n *networkResourceController) removeRecordFrom(ctx context.Context, t *task[*v1.OZNetworkResource], all *management.Collection[management.Record]) error {
	id, name := t.next.Status.DNSRecordID, t.next.Status.DNSName
	if err := all.Load(ctx); err != nil {
		return err
	}
	if id == "" && isCreating(t.next) {
		absent, err := all.Absent(ctx, string(t.object.UID), func(r management.Record) bool { return r.Name == name })
		if err != nil || absent {
			return err
		}
		have, found := recordByName(all, name)
		if !found {
			return inFlight(kindRecord)
		}
		id = have.ID
	}
	if _, found, err := all.Confirm(ctx, id); err != nil || !found {
		return err
	}
	return t.counted("delete", all.Remove(ctx, id))
}
