package openclaw

import (
	"context"
	"errors"
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/lintel-policy/lintel/api/openclaw/v1"
	"github.com/lintel-policy/lintel/controllers/object"
)

// carrying is one pass over the objects of an instance. No step depends on another one, except
// for the first Deployment: a tenant who breaks one object blocks no other object, in particular
// not the policies.
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

// fail records an obstacle. kind is the kind of the object that could not be written.
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
	c.policies(ctx)
	integrations, err := integrationsData(c.good)
	c.fail("ConfigMap", err)
	if err == nil {
		c.keep(ctx, "ConfigMap", configMap(c.good, configName(c.good.Name), integrations), object.MetadataOf(object.ConfigMapKind))
	}
	c.keep(ctx, "Service", service(c.good), &corev1.Service{})
	c.budget(ctx)
	secretsHash, err := c.r.secrets.hash(ctx, c.good)
	c.fail("Secret", err)
	c.deployment(ctx, hashOf(integrations), secretsHash)
}

// policies signs the gateways' policies, and stores them in a ConfigMap. Where there are
// none that could be, the policies that gateways have stay wanted.
func (c *carrying) policies(ctx context.Context) {
	composed, unread, err := c.r.policies(ctx, c.good)
	switch {
	case err != nil:
		c.fail("ConfigMap", err)
	case composed.failure != nil:
		c.broken = true
		c.facts.add(composed.failure)
	case unread != "" && c.facts.deployment == nil:
		// A gateway does not start with less than was applied before it.
		c.broken = true
		c.facts.awaits = "PolicyBundle " + unread + " has not been read yet"
		return
	default:
		signed, again, err := c.r.signed(ctx, c.good, composed, c.facts.signed, c.facts.now)
		if err != nil {
			c.fail("Record", err)
			break
		}
		c.facts.signed, c.facts.wanted = signed, composed.revision
		c.facts.lookAgain(again)
		if left := composed.leftProblem(); left != nil {
			c.facts.add(left)
			c.facts.partial = true
		}
	}
	if c.facts.signed != nil {
		c.storePolicies(ctx)
	}
}

// storePolicies keeps the ConfigMap with the policies. Where another object keeps its name,
// as one with finalizers may, or where Pods may have mounted another object, the ConfigMap
// gets another name.
func (c *carrying) storePolicies(ctx context.Context) {
	stored, err := c.replacePolicies(ctx)
	blocked := (*object.Terminating)(nil)
	renamed := errors.As(err, &blocked) && c.rename(ctx)
	if err == nil && c.facts.signed.mayHaveMountedAnother(c.facts.pods, stored) {
		// Each name lasts a while, so that gateways are not replaced faster than that.
		if due := stored.CreationTimestamp.Add(c.r.deadline); due.After(c.facts.now) {
			c.facts.lookAgain(due)
		} else {
			renamed = c.rename(ctx)
		}
	}
	if renamed {
		_, err = c.replacePolicies(ctx)
	}
	c.fail("ConfigMap", err)
}

// replacePolicies writes the ConfigMap. An existing object with its name belongs to the
// instance, because no other user knew the name before.
func (c *carrying) replacePolicies(ctx context.Context) (*metav1.PartialObjectMetadata, error) {
	stored := object.MetadataOf(object.ConfigMapKind)
	_, err := c.r.applier.Replace(ctx, func(client.Object) bool { return true }, policiesMap(c.good, c.facts.signed), stored)
	if err == nil && stored.DeletionTimestamp != nil {
		err = &object.Terminating{Kind: "ConfigMap", NamespacedName: client.ObjectKeyFromObject(stored)}
	}
	return stored, err
}

// rename gives the ConfigMap another name, unless it got one lately.
func (c *carrying) rename(ctx context.Context) bool {
	if c.facts.now.Sub(c.facts.signed.Renamed) < c.r.deadline {
		return false
	}
	renamed := c.facts.signed.renamed(c.good, c.facts.now)
	if err := c.r.records.keepSigned(ctx, c.good, renamed); err != nil {
		c.fail("Record", err)
		return false
	}
	c.facts.signed = renamed
	return true
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

// deployment reconciles the Deployment of the gateways. Changed policies always cause a rollout.
// If another input of new Pods is missing, there is no rollout, but changes by other writers are
// still reverted.
func (c *carrying) deployment(ctx context.Context, integrations, secrets string) {
	if c.facts.signed == nil || c.facts.deployment == nil && (c.broken || secrets == "") {
		return
	}
	g := gateway{instance: c.good, images: imagesOf(c.good), signed: c.facts.signed}
	g.recreate = c.facts.recreates(c.r.deadline, c.facts.now)
	if secrets != "" {
		c.complete = c.facts.wanted != ""
		g.config = hashOf(map[string]string{"integrations": integrations, "secrets": secrets})
	} else {
		g.config = c.facts.deployment.Spec.Template.Annotations[configHashAnnotation]
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

// bound takes down the gateways that have run other policies for longer than they may.
func (c *carrying) bound(ctx context.Context) {
	overdue, _ := c.facts.overdue(c.r.deadline, c.facts.now)
	if len(overdue) == 0 {
		return
	}
	c.facts.add(c.facts.outdated(overdue, c.r.deadline))
	if d := c.facts.deployment; d != nil && !c.facts.signed.runsKey(&d.Spec.Template.Spec) {
		c.fail("Deployment", c.r.scaleToZero(ctx, d))
	}
	c.fail("Pod", c.r.takeDown(ctx, overdue, c.facts.deployment, overdueGrace))
}

// tidy removes the ConfigMaps with former policies that no Pod uses any longer.
func (c *carrying) tidy(ctx context.Context) {
	if c.facts.signed == nil {
		return
	}
	used := map[string]bool{c.facts.signed.ConfigMap: true}
	note := func(spec corev1.PodSpec) {
		for _, volume := range spec.Volumes {
			if volume.ConfigMap != nil {
				used[volume.ConfigMap.Name] = true
			}
		}
	}
	for _, pod := range c.facts.pods {
		note(pod.Spec)
	}
	if c.facts.deployment != nil {
		note(c.facts.deployment.Spec.Template.Spec)
	}
	err := c.r.removePolicies(ctx, client.ObjectKeyFromObject(c.owner), c.owner.controls, func(stored client.Object) bool { return !used[stored.GetName()] })
	c.fail("ConfigMap", err)
}

// removePolicies deletes those ConfigMaps with policies of an instance that are unused.
func (r *InstanceReconciler) removePolicies(ctx context.Context, instance client.ObjectKey, ours object.Ours, unused func(client.Object) bool) (failure error) {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMapList"))
	if err := r.client.List(ctx, list, client.InNamespace(instance.Namespace), client.MatchingLabels(gatewayLabels(instance.Name)), client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("listing the ConfigMaps of OpenClawInstance %s: %w", instance.Name, err)
	}
	for i := range list.Items {
		if stored := &list.Items[i]; strings.HasPrefix(stored.Name, policiesPrefix(instance.Name)) && unused(stored) {
			failure = errors.Join(failure, r.applier.Remove(ctx, ours, client.ObjectKeyFromObject(stored), object.MetadataOf(object.ConfigMapKind)))
		}
	}
	return failure
}
