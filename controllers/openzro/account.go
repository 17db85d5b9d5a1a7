package openzro

import (
	"context"
	"fmt"
	"slices"
	"strings"

	v1 "github.com/lintel-policy/lintel/api/openzro/v1"
	"github.com/lintel-policy/lintel/controllers/object"
)

// maxLeftBehind limits the items in a status that were left behind. The oldest are dropped.
const maxLeftBehind = 100

// useAccount records the account of an object in its status. An object whose account has changed
// is not reconciled until the change is acknowledged: everything would be created again, and the
// former account would keep its items.
func (r *reconciler[T, S]) useAccount(ctx context.Context, t *task[T]) error {
	account, err := t.Account(ctx)
	if err != nil {
		return err
	}
	status := t.next.CommonStatus()
	former := status.Account
	if former == "" || former == account {
		status.Account = account
		return nil
	}
	if !acknowledges(t, account) {
		return accountChanged(t, account)
	}
	left := itemsOf(t.object, former)
	r.resetStatus(t)
	status.Account = account
	status.LeftBehind = mergeLeftBehind(t, left, account)
	if len(left) > 0 {
		t.tell(object.Event{Warning: true, Reason: "LeftBehind", Message: fmt.Sprintf("in account %s stay %s", former, describeItems(left))})
	}
	return nil
}

// mergeLeftBehind adds items to those that were left behind before. Those of the account that
// the object returns to are its own again, or adopted, as they were.
func mergeLeftBehind[T v1.Object](t *task[T], left []v1.LeftBehind, account string) []v1.LeftBehind {
	var all []v1.LeftBehind
	for _, item := range slices.Concat(t.object.CommonStatus().LeftBehind, left) {
		if item.Account == account {
			bringBack(t.next, item)
		} else if !slices.Contains(all, item) {
			all = append(all, item)
		}
	}
	return all[max(0, len(all)-maxLeftBehind):]
}

// bringBack puts the ID of an item into a status again.
func bringBack(next v1.Object, item v1.LeftBehind) {
	_, adopted := adoptionOf(next, item.ID)
	switch of := next.(type) {
	case *v1.OZGroup:
		of.Status.GroupID = item.ID
	case *v1.OZSetupKey:
		if !adopted { // those that it made are deleted with it
			of.Status.KeysMade = append(of.Status.KeysMade, item.ID)
		}
	case *v1.OZNetworkResource:
		if item.Kind == kindRecord {
			of.Status.DNSRecordID = item.ID
		}
	case *v1.OZRoutingPeer:
		switch item.Kind {
		case kindNetwork:
			of.Status.NetworkID = item.ID
		case kindRouter:
			of.Status.RouterID = item.ID
		}
	}
	next.CommonStatus().Adopted = next.CommonStatus().Adopted || adopted
}

// acknowledges reports whether the user has acknowledged that an object is to be created in
// an account.
func acknowledges[T v1.Object](t *task[T], account string) bool {
	return t.object.GetAnnotations()[v1.AccountAnnotation] == account || t.by.account == account
}

// accountChanged is the problem of an object whose key leads to another account than before.
func accountChanged[T v1.Object](t *task[T], account string) *problem {
	former := t.object.CommonStatus().Account
	what := "nothing"
	if items := itemsOf(t.object, former); len(items) > 0 {
		what = describeItems(items)
	}
	return stalled(v1.ReasonAccountChanged,
		"the key in %s is for account %s, and this object is in account %s, which has %s: store a key for that account again, or, to leave these there and create the object in the other account, annotate it or the Secret %s with %s=%s",
		t.by.where(), account, former, what, v1.APIKeySecret, v1.AccountAnnotation, account)
}

// itemsOf are the items that an object has created or adopted in an account.
func itemsOf(of v1.Object, account string) (items []v1.LeftBehind) {
	for _, item := range listRemoteItems(of) {
		items = append(items, v1.LeftBehind{Account: account, Kind: item.kind, ID: item.id})
	}
	return items
}

// maxDescribed limits the items that a message lists.
const maxDescribed = 20

func describeItems(items []v1.LeftBehind) string {
	var all []string
	for _, item := range items[:min(len(items), maxDescribed)] {
		all = append(all, remoteItem{kind: item.Kind, id: item.ID}.String())
	}
	if more := len(items) - len(all); more > 0 {
		all = append(all, fmt.Sprintf("%d more", more))
	}
	return strings.Join(all, ", ")
}

// isLeftBehind reports whether an item is in another account.
func isLeftBehind(of v1.Object, id string) bool {
	return id != "" && slices.ContainsFunc(of.CommonStatus().LeftBehind, func(item v1.LeftBehind) bool { return item.ID == id })
}

// takeAway removes the items that were created for an object, in its own account only. If the
// change of account is acknowledged, they stay in the former one.
func (r *reconciler[T, S]) takeAway(ctx context.Context, t *task[T]) error {
	former := t.object.CommonStatus().Account
	if former == "" || !hasMade(t.object) {
		return r.remove(ctx, t)
	}
	account, err := t.Account(ctx)
	if err != nil {
		return err
	}
	switch {
	case account == former:
		return r.remove(ctx, t)
	case !acknowledges(t, account):
		return accountChanged(t, account).withWayOut()
	}
	t.tell(object.Event{Warning: true, Reason: "LeftBehind", Message: fmt.Sprintf("in account %s stay %s", former, describeItems(itemsOf(t.object, former)))})
	return nil
}
