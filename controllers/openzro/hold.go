package openzro

import (
	"cmp"
	"context"
	"fmt"
	"net/netip"

	v1 "github.com/lintel-policy/lintel/api/openzro/v1"
	"github.com/lintel-policy/lintel/controllers/openzro/management"
)

// wantedResource is a resource of a network at the server, as an object says.
type wantedResource struct {
	network string
	// owner is the namespace of the OZRoutingPeer of the network, if it is another one.
	owner string
	// id is the ID in the next status, and record the description of the created item.
	id      *string
	record  string
	request management.ResourceRequest
}

// holdResource has the server have a resource, and gives its ID. Whether it was there
// before is written into the status.
func holdResource[T v1.Object](ctx context.Context, t *task[T], w wantedResource) (id string, err error) {
	if err := needNetwork(ctx, t.Tenant, cmp.Or(w.owner, t.object.GetNamespace()), w.network); err != nil {
		return "", err
	}
	all := t.Resources(w.network)
	if err := all.Load(ctx); err != nil {
		return "", err
	}
	if _, _, err := all.Confirm(ctx, *w.id); err != nil {
		return "", err
	}
	have, found, ours := resourceOf(all, t.next.CommonStatus().Adopted, w)
	if found && !ours && isWithdrawn(t, have.ID) {
		if err := releaseResource(ctx, t, all, have); err != nil {
			return "", err
		}
		*w.id = ""
		have, found, ours = resourceOf(all, false, w)
	}
	if found && !ours && !permitsAdoption(t, have.ID, *w.id) {
		return "", refuseAdoption(foreignResource(have))
	}
	if w.request.Description = w.record; !found {
		made, err := all.Create(ctx, w.request)
		if management.IsNameTaken(err) {
			return "", nameTaken(err)
		}
		if err != nil {
			return "", gone(err, t.Groups.Forget) // one of the groups
		}
		t.made("create")
		t.next.CommonStatus().Adopted = false
		return made.ID, asWritten(made, w.request)
	}
	if ours {
		t.next.CommonStatus().Adopted = false
	} else {
		if err := adopt(ctx, t, foreignResource(have), w.id, resourceRequestOf(have)); err != nil {
			return have.ID, err
		}
		t.says = "the resource was there before and is used; it is not deleted with this object"
		w.request.Description = have.Description
	}
	if sameResource(have, w.request) {
		return have.ID, nil
	}
	written, err := all.Update(ctx, have.ID, w.request)
	if management.IsNameTaken(err) {
		return have.ID, nameTaken(err)
	}
	if err != nil {
		return have.ID, gone(err, all.Forget)
	}
	t.made("update")
	return have.ID, asWritten(written, w.request)
}

// narrowResource reduces a desired resource to the groups in which the server already has it:
// missing groups are still pending, and groups that are no longer named are removed. held is
// false if the server has no resource to narrow.
func narrowResource[T v1.Object](ctx context.Context, t *task[T], w *wantedResource) (held bool, err error) {
	if err := t.Networks.Load(ctx); err != nil {
		return false, err
	}
	if _, found := t.Networks.Get(w.network); !found || *w.id == "" {
		return false, nil
	}
	all := t.Resources(w.network)
	if err := all.Load(ctx); err != nil {
		return false, err
	}
	have, found, ours := resourceOf(all, t.next.CommonStatus().Adopted, *w)
	if !found || !ours && !permitsAdoption(t, have.ID, *w.id) {
		return false, nil
	}
	w.request.Groups = nonNil(stillNamed(t.Tenant, management.IDs(have.Groups), w.request.Groups))
	return true, nil
}

// asWritten returns an error if the server stored a different resource.
func asWritten(is management.Resource, wanted management.ResourceRequest) error {
	if sameResource(is, wanted) {
		return nil
	}
	return &problem{reason: v1.ReasonAPIError, message: fmt.Sprintf("the server keeps resource %s otherwise than it was written", wanted.Name), again: failedPause}
}

func resourceOf(all *management.Collection[management.Resource], adopted bool, w wantedResource) (have management.Resource, found, ours bool) {
	return find(all, *w.id, w.request.Name, w.record, adopted, func(r management.Resource) string { return r.Description })
}

// sameResource compares the actual with the desired resource, in the server's own form.
func sameResource(have management.Resource, wanted management.ResourceRequest) bool {
	return have.Name == wanted.Name && have.Description == wanted.Description && have.Enabled == wanted.Enabled &&
		normalAddress(have.Address) == normalAddress(wanted.Address) && management.SameIDs(have.Groups, wanted.Groups)
}

// normalAddress is an address as the server gives it: that of a host is a subnet of one.
func normalAddress(text string) string {
	if prefix, err := netip.ParsePrefix(text); err == nil {
		return prefix.String()
	}
	if address, err := netip.ParseAddr(text); err == nil {
		return netip.PrefixFrom(address, address.BitLen()).String()
	}
	return text
}

// needNetwork returns a problem if a network is missing, or belongs to another namespace. For a
// missing one, the server itself would return only a generic error.
func needNetwork(ctx context.Context, t *management.Tenant, namespace, id string) error {
	if err := t.Networks.Load(ctx); err != nil {
		return err
	}
	have, found := t.Networks.Get(id)
	if !found {
		if _, err := t.Networks.Missed(ctx, id); err != nil {
			return err
		}
		have, found = t.Networks.Get(id)
	}
	if found && isOfNeighbour(have, namespace) {
		return waiting(v1.ReasonDependency, "the network with the ID %q is that of the OZRoutingPeers of another namespace: give status.networkID of an OZRoutingPeer of this one", id)
	}
	if !found {
		return waiting(v1.ReasonDependency, "the server has no network with the ID %q: give that of one that it has, such as in status.networkID of an OZRoutingPeer", id)
	}
	return nil
}

// removeResource deletes a resource that was created for an object.
func removeResource[T v1.Object](ctx context.Context, t *task[T], w wantedResource) error {
	if err := t.Networks.Load(ctx); err != nil {
		return err
	}
	if _, found, err := t.Networks.Confirm(ctx, w.network); err != nil || !found {
		return err // it went with its network
	}
	all := t.Resources(w.network)
	if err := all.Load(ctx); err != nil {
		if management.Is(err, management.NotFound) {
			return nil
		}
		return err
	}
	if _, _, err := all.Confirm(ctx, *w.id); err != nil {
		return err
	}
	have, found, ours := resourceOf(all, t.next.CommonStatus().Adopted, w)
	if !found {
		absent, err := all.AbsentIfUnsure(ctx, string(t.object.GetUID()), func(r management.Resource) bool { return r.Description == w.record })
		if err != nil || absent {
			return err
		}
		if have, found, ours = resourceOf(all, t.next.CommonStatus().Adopted, w); !found {
			return inFlight(kindResource)
		}
	}
	if found && !ours && have.ID == *w.id {
		return releaseResource(ctx, t, all, have)
	}
	if !ours {
		return nil
	}
	return t.counted("delete", all.Remove(ctx, have.ID))
}
