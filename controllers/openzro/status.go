package openzro

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/lintel-policy/lintel/api/openzro/v1"
	"github.com/lintel-policy/lintel/controllers/object"
)

// setStatus says of an object that it is as it should be, or why it is not.
func setStatus(of v1.Object, p *problem, says string) {
	s := of.CommonStatus()
	s.ObservedGeneration = of.GetGeneration()
	c := conditionsOf(of)
	if p != nil && p.reason == v1.ReasonNotAdmitted {
		c.Set(v1.ConditionAdmitted, false, "Denied", p.message)
	} else if of.GetDeletionTimestamp().IsZero() {
		c.Set(v1.ConditionAdmitted, true, "Admitted", "no rule denies the object")
	}
	if p == nil {
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

// isReconciled says whether the status tells that an object is as it should be.
func isReconciled(of v1.Object) bool {
	ready := meta.FindStatusCondition(of.CommonStatus().Conditions, v1.ConditionReady)
	return ready != nil && ready.Status == metav1.ConditionTrue && ready.ObservedGeneration == of.GetGeneration()
}

// hasMade says whether the status tells of anything that is an object's at the server, or
// may be. Of groups and setup keys it does so before they are made.
func hasMade(of v1.Object) bool {
	switch of := of.(type) {
	case *v1.OZGroup:
		return isCreating(of) || of.Status.GroupID != "" && !of.Status.Adopted
	case *v1.OZSetupKey:
		return of.Status.Making != nil || len(remoteIDs(of)) > 0
	}
	return len(remoteIDs(of)) > 0
}

// remoteIDs are the IDs, at the server, of the items that the status of an object names as
// its own or adopted.
func remoteIDs(of v1.Object) (ids []string) {
	switch of := of.(type) {
	case *v1.OZGroup:
		ids = []string{of.Status.GroupID}
	case *v1.OZSetupKey:
		ids = append([]string{of.Status.SetupKeyID}, of.Status.KeysMade...)
	case *v1.OZPolicy:
		ids = []string{of.Status.TCPPolicyID, of.Status.UDPPolicyID}
	case *v1.OZResource:
		ids = []string{of.Status.NetworkResourceID}
	case *v1.OZRoutingPeer:
		ids = []string{of.Status.NetworkID, of.Status.RouterID}
	case *v1.OZNetworkResource:
		ids = []string{of.Status.ResourceID}
	}
	return slices.DeleteFunc(ids, func(id string) bool { return id == "" })
}

// isCreating says whether something was about to be made at the server.
func isCreating(of v1.Object) bool {
	return meta.IsStatusConditionTrue(of.CommonStatus().Conditions, v1.ConditionCreating)
}
