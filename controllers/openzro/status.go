package openzro

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/lintel-policy/lintel/api/openzro/v1"
	"github.com/lintel-policy/lintel/controllers/object"
)

// setStatus sets the conditions of an object: the desired state, or the problem.
func setStatus(of v1.Object, p *problem, says string, o outage) {
	s := of.CommonStatus()
	s.ObservedGeneration = of.GetGeneration()
	c := conditionsOf(of)
	if p != nil && p.reason == v1.ReasonNotAdmitted {
		c.Set(v1.ConditionAdmitted, false, "Denied", p.message)
	} else if of.GetDeletionTimestamp().IsZero() {
		c.Set(v1.ConditionAdmitted, true, "Admitted", "no rule denies the object")
	}
	if o.since.IsZero() {
		c.Remove(v1.ConditionServerUnavailable)
	} else {
		c.Set(v1.ConditionServerUnavailable, true, v1.ReasonServerUnavailable, o.String())
	}
	switch {
	case p != nil:
	case !o.since.IsZero():
		c.SetStatus(v1.ConditionReady, metav1.ConditionUnknown, v1.ReasonServerUnavailable, o.String())
		return
	default:
		c.Set(v1.ConditionReady, true, v1.ReasonReconciled, cmp.Or(says, "the server has it as it is written here"))
		c.Remove(v1.ConditionStalled)
		return
	}
	c.Set(v1.ConditionReady, false, p.reason, p.message)
	if p.stalled {
		c.Set(v1.ConditionStalled, true, p.reason, p.message)
	} else {
		c.Remove(v1.ConditionStalled)
	}
}

func conditionsOf(of v1.Object) object.Conditions {
	return object.Conditions{List: &of.CommonStatus().Conditions, Generation: of.GetGeneration()}
}

// isReconciled reports whether an object is in the desired state according to its status. It
// stays so while the server cannot be read.
func isReconciled(of v1.Object) bool {
	ready := meta.FindStatusCondition(of.CommonStatus().Conditions, v1.ConditionReady)
	return ready != nil && (ready.Status == metav1.ConditionTrue || ready.Reason == v1.ReasonServerUnavailable) && ready.ObservedGeneration == of.GetGeneration()
}

// outage is a server that has not been read since a time: zero for one that has been.
type outage struct {
	since time.Time
	cause string
}

func (o outage) String() string {
	text := fmt.Sprintf("the management server was last read at %s, and the status of this object is from then", o.since.UTC().Format(time.RFC3339))
	if o.cause != "" {
		text += " (" + o.cause + ")"
	}
	return text
}

// hasMade reports whether the status lists an item of the object at the server, or a possible
// one. Groups and setup keys are recorded before they are created.
func hasMade(of v1.Object) bool {
	switch of := of.(type) {
	case *v1.OZGroup:
		return isCreating(of) || of.Status.GroupID != "" && !of.Status.Adopted
	case *v1.OZNetworkResource:
		return isCreating(of) || len(remoteIDs(of)) > 0
	case *v1.OZSetupKey:
		return of.Status.Making != nil || len(remoteIDs(of)) > 0
	}
	return len(remoteIDs(of)) > 0
}

// remoteIDs are the IDs, at the server, of the items that the status of an object names as
// its own or adopted.
func remoteIDs(of v1.Object) (ids []string) {
	for _, item := range listRemoteItems(of) {
		ids = append(ids, item.id)
	}
	return ids
}

// listRemoteItems are the items of remoteIDs, each once.
func listRemoteItems(of v1.Object) (items []remoteItem) {
	add := func(kind string, ids ...string) {
		for _, id := range ids {
			if item := (remoteItem{kind: kind, id: id}); id != "" && !slices.Contains(items, item) {
				items = append(items, item)
			}
		}
	}
	switch of := of.(type) {
	case *v1.OZGroup:
		add(kindGroup, of.Status.GroupID)
	case *v1.OZSetupKey:
		add(kindSetupKey, of.Status.SetupKeyID)
		add(kindSetupKey, of.Status.KeysMade...)
	case *v1.OZPolicy:
		add(kindPolicy, of.Status.TCPPolicyID, of.Status.UDPPolicyID)
	case *v1.OZResource:
		add(kindResource, of.Status.NetworkResourceID)
	case *v1.OZRoutingPeer:
		add(kindNetwork, of.Status.NetworkID)
		add(kindRouter, of.Status.RouterID)
	case *v1.OZNetworkResource:
		add(kindResource, of.Status.ResourceID)
		add(kindRecord, of.Status.DNSRecordID)
	}
	return items
}

// isCreating reports whether the creation of an item at the server was about to happen.
func isCreating(of v1.Object) bool {
	return meta.IsStatusConditionTrue(of.CommonStatus().Conditions, v1.ConditionCreating)
}
