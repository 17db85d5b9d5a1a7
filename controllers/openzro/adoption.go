package openzro

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/lintel-policy/lintel/api/openzro/v1"
	"github.com/lintel-policy/lintel/controllers/object"
	"github.com/lintel-policy/lintel/controllers/openzro/management"
)

// The kinds of items at the server that can be adopted.
const (
	kindGroup    = "group"
	kindNetwork  = "network"
	kindPolicy   = "policy"
	kindRecord   = "DNS record"
	kindResource = "resource"
	kindRouter   = "router"
	kindSetupKey = "setup key"
)

// maxFormer limits the former state of one item in a status, in bytes. An etcd object holds
// about 1.5 MiB, and an OZPolicy adopts two policies.
const maxFormer = 128 << 10

// remoteItem is an item at the server. Routers have no name, and neither have items that only
// the status lists.
type remoteItem struct {
	kind, id, name string
}

func (f remoteItem) String() string {
	if f.name == "" {
		return fmt.Sprintf("%s (ID %s)", f.kind, f.id)
	}
	return fmt.Sprintf("%s %q (ID %s)", f.kind, f.name, f.id)
}

// refuseAdoption is the problem of an object whose name the server already has.
func refuseAdoption(f remoteItem) *problem {
	return &problem{reason: v1.ReasonDuplicateName, again: refusedPause, message: fmt.Sprintf(
		"the server already has the %s, which this object did not create: choose another name, delete it at the server, or annotate this object with %s=true to adopt it", f, v1.AdoptAnnotation)}
}

// permitsAdoption reports whether an object may use an item that it did not create: it has
// adopted the item before, or is annotated to adopt it. known is the ID in its status.
func permitsAdoption[T v1.Object](t *task[T], id, known string) bool {
	return v1.MayAdopt(t.object) || known != "" && id == known && t.object.CommonStatus().Adopted
}

// adoptionOf finds the adoption of an item in the status of an object.
func adoptionOf(of v1.Object, id string) (adoption v1.Adoption, found bool) {
	all := of.CommonStatus().Adoptions
	i := slices.IndexFunc(all, func(a v1.Adoption) bool { return a.ID == id })
	if i < 0 {
		return adoption, false
	}
	return all[i], true
}

// isWithdrawn reports whether an object has adopted an item by the annotation, and no longer
// carries it. Adoptions by versions of Lintel without the annotation are not withdrawn.
func isWithdrawn[T v1.Object](t *task[T], id string) bool {
	_, found := adoptionOf(t.next, id)
	return found && !v1.MayAdopt(t.object)
}

// adopt stores the former state of an item in the status, before the item is changed. former is
// the request that restores it: nil for kinds that are not changed. id is the field of the next
// status that names the item. It is never set without the adoption: an ID in a status without
// one names an item that the object has created.
func adopt[T v1.Object](ctx context.Context, t *task[T], f remoteItem, id *string, former any) error {
	status := t.next.CommonStatus()
	if _, found := adoptionOf(t.next, f.id); found || !v1.MayAdopt(t.object) {
		*id, status.Adopted = f.id, true
		return nil
	}
	adoption := v1.Adoption{ID: f.id, Kind: f.kind, Name: f.name}
	// An earlier version has adopted it and changed it since.
	before := t.object.CommonStatus().Adopted && slices.Contains(remoteIDs(t.object), f.id)
	if !before {
		if err := t.mayAdopt(ctx, f); err != nil {
			return err
		}
	}
	if former != nil && !before {
		text, err := json.Marshal(former)
		if err != nil {
			return fmt.Errorf("storing the former state of the %s: %w", f, err)
		}
		if len(text) > maxFormer {
			return stalled(v1.ReasonDuplicateName, "the %s cannot be adopted: its former state has %d bytes, of which a status stores at most %d; choose another name", f, len(text), maxFormer)
		}
		adoption.Former = string(text)
	}
	status.Adoptions = append(slices.Clone(status.Adoptions), adoption)
	*id, status.Adopted = f.id, true
	if err := t.save(ctx); err != nil {
		return err
	}
	t.tell(object.Event{Reason: "Adopted", Message: fmt.Sprintf("adopted the %s; it stays at the server when this object is deleted", f)})
	return nil
}

// released removes an adoption from the status and sends an Event about the outcome.
func released[T v1.Object](t *task[T], f remoteItem, outcome string) {
	status := t.next.CommonStatus()
	status.Adoptions = slices.DeleteFunc(slices.Clone(status.Adoptions), func(a v1.Adoption) bool { return a.ID == f.id })
	if len(status.Adoptions) == 0 {
		status.Adoptions, status.Adopted = nil, false
	}
	t.tell(object.Event{Reason: "Released", Message: fmt.Sprintf("released the %s: %s", f, outcome)})
}

// formerOf reads the former state of an item into a request. found is false if none is
// stored, or the status does not hold such a request.
func formerOf[R any](of v1.Object, id string) (request R, found bool) {
	adoption, has := adoptionOf(of, id)
	if !has || adoption.Former == "" {
		return request, false
	}
	return request, json.Unmarshal([]byte(adoption.Former), &request) == nil
}

// pruneAdoptions removes adoptions of items that the object no longer uses, and that it has
// not left behind in another account: with the former state, they can still be restored when
// it returns.
func pruneAdoptions(of v1.Object) {
	status, used := of.CommonStatus(), remoteIDs(of)
	unused := func(a v1.Adoption) bool { return !slices.Contains(used, a.ID) && !isLeftBehind(of, a.ID) }
	if slices.ContainsFunc(status.Adoptions, unused) {
		status.Adoptions = slices.DeleteFunc(slices.Clone(status.Adoptions), unused)
	}
}

// counted returns the error of a write at the server, and counts one without error.
func (t *task[T]) counted(operation string, err error) error {
	if err == nil {
		t.made(operation)
	}
	return err
}

// createRecorded creates an item that cannot name its owner in a description. The status records
// the creation before it happens, in case the response is lost. id is the ID in the next status,
// and create returns the ID of the created item.
func createRecorded[T v1.Object](ctx context.Context, t *task[T], kind string, id *string, create func() (string, error)) error {
	before := isCreating(t.next)
	if !before {
		conditionsOf(t.next).Set(v1.ConditionCreating, true, "Creating", "the "+kind+" is being created at the server")
		if err := t.save(ctx); err != nil {
			return err
		}
	}
	created, err := create()
	if err == nil {
		t.made("create")
		*id = created
	}
	if err == nil || !before && !management.Unsure(err) {
		conditionsOf(t.next).Remove(v1.ConditionCreating)
	}
	return err
}

// tell sends an Event about the object of a task.
func (t *task[T]) tell(e object.Event) {
	if t.events != nil {
		object.Send(t.events, client.Object(t.object), "Reconcile", e)
	}
}
