package openclaw

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"

	v1 "github.com/lintel-policy/lintel/api/openclaw/v1"
)

// The reasons of an OpenClawInstance's conditions when nothing is wrong.
const (
	ReasonReconciled  = "Reconciled"
	ReasonRollingOut  = "RollingOut"
	ReasonRolledOut   = "RolledOut"
	ReasonPending     = "Pending"
	ReasonAsExpected  = "AsExpected"
	ReasonNotAdmitted = "NotAdmitted"
)

// instanceFacts are what the status of an instance is computed from.
type instanceFacts struct {
	// deployment is as it was read last: nil where there is none of ours.
	deployment *appsv1.Deployment
	// problem keeps the spec from being carried out: nil where nothing does.
	problem *problem
	// asked says that policies were asked, and denied what they said against it.
	asked  bool
	denied *problem
}

// instanceStatus is what the instance says next. Conditions keep their transition time
// where they do not change.
func instanceStatus(instance *v1.OpenClawInstance, f instanceFacts) v1.OpenClawInstanceStatus {
	next := *instance.Status.DeepCopy()
	next.ObservedGeneration = instance.Generation
	next.Phase, next.ReadyReplicas = phaseOf(f.deployment), 0
	broken := f.problem
	if f.denied != nil {
		broken = f.denied
	}
	if f.deployment != nil {
		next.ReadyReplicas = f.deployment.Status.ReadyReplicas
		if broken == nil {
			broken = stuck(f.deployment)
		}
	}
	c := conditions{&next.Conditions, instance.Generation}
	c.admitted(f.asked, f.denied)

	wanted := replicas(instance)
	switch {
	case broken != nil:
		c.set(v1.ConditionReady, false, broken.reason, broken.message)
	case next.Phase == v1.PhaseRunning:
		c.set(v1.ConditionReady, true, ReasonReconciled, "OpenClaw instance reconciled successfully")
	case next.Phase == v1.PhaseProgressing:
		c.set(v1.ConditionReady, false, ReasonRollingOut, "gateways are being started or replaced")
	default:
		c.set(v1.ConditionReady, false, ReasonPending, "the Deployment does not exist yet")
	}
	switch {
	case next.Phase == v1.PhaseRunning:
		c.set(v1.ConditionProgressing, false, ReasonRolledOut, fmt.Sprintf("all gateways are of the latest version; %d wanted", wanted))
	case broken != nil:
		c.set(v1.ConditionProgressing, false, broken.reason, broken.message)
	case next.Phase == v1.PhaseProgressing:
		c.set(v1.ConditionProgressing, true, ReasonRollingOut, "gateways are being started or replaced")
	default:
		c.set(v1.ConditionProgressing, true, ReasonPending, "the Deployment does not exist yet")
	}
	if broken != nil {
		c.set(v1.ConditionDegraded, true, broken.reason, broken.message)
	} else {
		c.set(v1.ConditionDegraded, false, ReasonAsExpected, "nothing is in the way")
	}
	return next
}
