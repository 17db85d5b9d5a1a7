package openclaw

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	v1 "github.com/lintel-policy/lintel/api/openclaw/v1"
	"github.com/lintel-policy/lintel/controllers/object"
)

// The reasons of an OpenClawInstance's conditions when nothing is wrong.
const (
	ReasonReconciled  = "Reconciled"
	ReasonRollingOut  = "RollingOut"
	ReasonRolledOut   = "RolledOut"
	ReasonPending     = "Pending"
	ReasonAsExpected  = "AsExpected"
	ReasonNotAdmitted = "NotAdmitted"
	ReasonDeleting    = "Deleting"
)

// ReasonPoliciesOutdated is the reason of gateways that are stopped.
const ReasonPoliciesOutdated = "PoliciesOutdated"

// instanceFacts are what the status of an instance is computed from.
type instanceFacts struct {
	// record is the last applied state, or nil. gathered means that it and the Deployment could
	// be read.
	record   *record
	gathered bool
	// owns means that existing objects with the names of the instance's objects belong to it.
	owns bool
	rollout
	// now is when the facts were gathered.
	now time.Time
	// again is when policies are signed, or their ConfigMap may get another name: zero for
	// never.
	again time.Time
	// wanted is the revision of the policies that gateways are to run: empty where there
	// are none that they could. partial says that some that bind them are left out.
	wanted  string
	partial bool
	// problems are what keeps the spec, or policies, from being carried out.
	problems []*problem
	// awaits is what the first gateway waits for.
	awaits string
	// answered says that policies gave an answer, and denied why they deny the spec: nil
	// where they do not.
	answered bool
	denied   *problem
}

func (f *instanceFacts) add(p *problem) { f.problems = append(f.problems, p) }

func (f *instanceFacts) has(reason string) bool {
	return slices.ContainsFunc(f.problems, func(p *problem) bool { return p.reason == reason })
}

// owner is the instance, which has what its record says that it has had.
func (f *instanceFacts) owner(instance *v1.OpenClawInstance) owner {
	return owner{instance, f.owns}
}

// lookAgain notes a time for again, unless it is zero or later than another one.
func (f *instanceFacts) lookAgain(at time.Time) {
	if !at.IsZero() && (f.again.IsZero() || at.Before(f.again)) {
		f.again = at
	}
}

// permitted reports whether the rules were evaluated and allow the spec.
func (f *instanceFacts) permitted() bool { return f.answered && f.denied == nil }

// broken returns all obstacles as one problem, with the reason of the first one.
func (f *instanceFacts) broken() *problem {
	all := f.problems
	if f.denied != nil {
		all = append([]*problem{f.denied}, all...)
	}
	if f.deployment != nil {
		if stuck := stuck(f.deployment); stuck != nil {
			all = append(slices.Clone(all), stuck)
		}
	}
	if len(all) == 0 {
		return nil
	}
	messages := make([]string, len(all))
	for i, p := range all {
		messages[i] = p.message
	}
	messages = slices.Compact(messages)
	if f.deployment != nil && f.wanted == "" {
		messages = append(messages, "until then gateways keep the policies that they have")
	}
	return &problem{all[0].reason, strings.Join(messages, "; ")}
}

// phase is Running only where every gateway runs the policies that it is to run.
func (f *instanceFacts) phase() v1.Phase {
	phase := phaseOf(f.deployment)
	if phase == v1.PhaseRunning && (f.partial || !f.runs(f.wanted)) {
		return v1.PhaseProgressing
	}
	return phase
}

// instanceStatus is what the instance says next. Conditions keep their transition time
// where they do not change.
func instanceStatus(instance *v1.OpenClawInstance, f instanceFacts) v1.OpenClawInstanceStatus {
	next := *instance.Status.DeepCopy()
	next.ObservedGeneration = instance.Generation
	next.Phase, next.ReadyReplicas = f.phase(), 0
	if f.deployment != nil {
		next.ReadyReplicas = f.deployment.Status.ReadyReplicas
	}
	broken := f.broken()
	pending := cmp.Or(f.awaits, "the Deployment does not exist yet")
	c := object.Conditions{List: &next.Conditions, Generation: instance.Generation}
	setAdmitted(c, f.answered, f.denied)

	if !instance.DeletionTimestamp.IsZero() {
		f.ending(instance, c)
		return next
	}
	switch {
	case broken != nil:
		c.Set(v1.ConditionReady, false, broken.reason, broken.message)
	case next.Phase == v1.PhaseRunning:
		c.Set(v1.ConditionReady, true, ReasonReconciled, "OpenClaw instance reconciled successfully")
	case next.Phase == v1.PhaseProgressing:
		c.Set(v1.ConditionReady, false, ReasonRollingOut, f.progress())
	default:
		c.Set(v1.ConditionReady, false, ReasonPending, pending)
	}
	switch {
	case next.Phase == v1.PhaseRunning:
		c.Set(v1.ConditionProgressing, false, ReasonRolledOut, fmt.Sprintf("all gateways are of the latest version; %d wanted", replicas(instance)))
	case broken != nil:
		c.Set(v1.ConditionProgressing, false, broken.reason, broken.message)
	case next.Phase == v1.PhaseProgressing:
		c.Set(v1.ConditionProgressing, true, ReasonRollingOut, "gateways are being started or replaced")
	default:
		c.Set(v1.ConditionProgressing, true, ReasonPending, pending)
	}
	if broken != nil {
		c.Set(v1.ConditionDegraded, true, broken.reason, broken.message)
	} else {
		c.Set(v1.ConditionDegraded, false, ReasonAsExpected, "nothing is in the way")
	}
	return next
}

// ending says how far the deletion of an instance is.
func (f *instanceFacts) ending(instance *v1.OpenClawInstance, c object.Conditions) {
	message := "its gateways are gone; it waits for its finalizers " + strings.Join(instance.Finalizers, ", ")
	if len(f.pods) > 0 {
		message = "its gateways are being deleted: " + f.describe(f.pods)
	} else if f.deployment != nil {
		message = "its gateways are being deleted"
	}
	c.Set(v1.ConditionReady, false, ReasonDeleting, message)
	c.Set(v1.ConditionProgressing, len(f.pods) > 0, ReasonDeleting, message)
	if len(f.problems) > 0 {
		c.Set(v1.ConditionDegraded, true, f.problems[0].reason, f.problems[0].message)
	} else {
		c.Set(v1.ConditionDegraded, false, ReasonDeleting, message)
	}
}
