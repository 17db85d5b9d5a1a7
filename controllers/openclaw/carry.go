package openclaw

import (
	"context"
	"errors"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/lintel-policy/lintel/api/openclaw/v1"
)

// carrying is one pass over what belongs to an instance. No step of it waits for
// another to succeed, but for the first Deployment: whoever breaks one object keeps
// nothing else from being as it should be, least of all the policies.
type carrying struct {
	r     *InstanceReconciler
	owner owner
	// good is the instance with the spec to carry out.
	good    *v1.OpenClawInstance
	facts   *instanceFacts
	failure error
	// broken says that a step failed, and complete that the Deployment is as wanted.
	broken, complete bool
}

// fail notes what is in the way. The kind is that of the object that could not be
// written.
func (c *carrying) fail(kind string, err error) {
	if err == nil {
		return
	}
	c.broken = true
	known := c.owner.problemOf(err)
	if known == nil {
		known = &problem{kind + "Failed", err.Error()}
		c.failure = errors.Join(c.failure, err)
	}
	c.facts.add(known)
}

func (c *carrying) keep(ctx context.Context, kind string, want any, have client.Object) (changed bool) {
	changed, err := c.r.applier.Replace(ctx, c.owner.controls, want, have)
	c.fail(kind, err)
	return changed
}

// all writes what differs, policies first.
func (c *carrying) all(ctx context.Context) {
	policies, written := c.policies(ctx)
	if written && c.rollsLater(policies) {
		c.failure = errRollLater
		return
	}
	integrations, err := integrationsData(c.good)
	c.fail("ConfigMap", err)
	if err == nil {
		c.keep(ctx, "ConfigMap", configMap(c.good, configName(c.good.Name), integrations), &corev1.ConfigMap{})
	}
	c.keep(ctx, "Service", service(c.good), &corev1.Service{})
	c.budget(ctx)
	secretsHash, err := c.r.secrets.hash(ctx, c.good)
	c.fail("Secret", err)
	c.deployment(ctx, policies, hashOf(integrations), secretsHash)
}

// policies has the gateways' policies in their ConfigMap. It is nil where there are
// none that could be.
func (c *carrying) policies(ctx context.Context) (policies *composition, changed bool) {
	policies, unread, err := c.r.policies(ctx, c.good)
	if err != nil {
		c.fail("ConfigMap", err)
		return nil, false
	}
	if policies.failure != nil {
		c.facts.add(policies.failure)
		return nil, false
	}
	if unread != "" && c.facts.deployment == nil {
		// A gateway does not start with less than was applied before it.
		c.facts.awaits = "PolicyBundle " + unread + " has not been read yet"
		return nil, false
	}
	c.facts.wanted = policies.hash
	if left := policies.leftProblem(); left != nil {
		c.facts.add(left)
		c.facts.partial = true
	}
	before := len(c.facts.problems)
	changed = c.keep(ctx, "ConfigMap", configMap(c.good, policiesName(c.good.Name), policies.data), &corev1.ConfigMap{})
	if len(c.facts.problems) > before {
		c.facts.wanted = ""
		return nil, false
	}
	return policies, changed
}

// rollsLater says whether a gateway that has just got policies waits for the others to
// get them: once for the same policies.
func (c *carrying) rollsLater(policies *composition) bool {
	if c.facts.deployment == nil || c.facts.deployment.Spec.Template.Annotations[policiesHashAnnotation] == policies.hash {
		return false
	}
	before, _ := c.r.delayed.Swap(c.good.UID, policies.hash)
	return before != policies.hash
}

// budget keeps the PodDisruptionBudget of several gateways, and none of one.
func (c *carrying) budget(ctx context.Context) {
	have := &policyv1.PodDisruptionBudget{}
	if c.good.Spec.DeploymentMode == v1.DeploymentModeHA {
		c.keep(ctx, "PodDisruptionBudget", disruptionBudget(c.good), have)
		return
	}
	key := client.ObjectKey{Namespace: c.good.Namespace, Name: gatewayName(c.good.Name)}
	if err := c.r.applier.Remove(ctx, c.owner.controls, key, have); err != nil {
		c.fail("PodDisruptionBudget", fmt.Errorf("deleting PodDisruptionBudget %s: %w", key, err))
	}
}

// deployment keeps the gateways. While something is missing that new Pods would need,
// there are no new ones, and those that run keep running; but what others changed about
// them is still taken back.
func (c *carrying) deployment(ctx context.Context, policies *composition, integrations, secrets string) {
	g := gateway{instance: c.good, images: imagesOf(c.good)}
	switch {
	case policies != nil && secrets != "" && (c.facts.deployment != nil || !c.broken):
		c.complete = true
		g.policies = policies.hash
		g.config = hashOf(map[string]string{"policies": policies.hash, "integrations": integrations, "secrets": secrets})
	case c.facts.deployment != nil:
		annotations := c.facts.deployment.Spec.Template.Annotations
		g.policies, g.config = annotations[policiesHashAnnotation], annotations[configHashAnnotation]
	default:
		return
	}
	deployed := &appsv1.Deployment{}
	before := len(c.facts.problems)
	changed := c.keep(ctx, "Deployment", deployment(g), deployed)
	if len(c.facts.problems) > before {
		c.complete = false
		return
	}
	c.facts.deployment = deployed
	if warning := sidecarWarning(g.images.sidecar); changed && warning != "" {
		c.r.events.Eventf(c.owner.Object, nil, corev1.EventTypeWarning, "OtherVersion", "Reconcile", "%s", warning)
	}
}
