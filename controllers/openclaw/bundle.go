package openclaw

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1 "github.com/lintel-policy/lintel/api/openclaw/v1"
)

// BundleReconciler stores the policies of PolicyBundles and says how far gateways have
// loaded them. Gateways themselves are the other reconciler's.
type BundleReconciler struct {
	client  client.Client
	writer  writer
	records records
	library *library
	options Options
}

// Reconcile implements reconcile.Reconciler.
func (r *BundleReconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	bundle := &v1.PolicyBundle{}
	if err := r.client.Get(ctx, request.NamespacedName, bundle); err != nil {
		if apierrors.IsNotFound(err) {
			return again(r.records.remove(ctx, bundleKind, request.NamespacedName))
		}
		return reconcile.Result{}, err
	}
	if !bundle.DeletionTimestamp.IsZero() {
		return reconcile.Result{}, nil
	}
	facts, failure := r.carryOut(ctx, bundle)
	if passing(failure) {
		return again(failure)
	}
	if err := r.write(ctx, bundle, bundleStatus(bundle, facts, time.Now())); err != nil {
		return again(errors.Join(failure, err))
	}
	if failure == nil && facts.stored != nil {
		return reconcile.Result{RequeueAfter: foreignInterval}, nil
	}
	return again(failure)
}

func (r *BundleReconciler) carryOut(ctx context.Context, bundle *v1.PolicyBundle) (facts bundleFacts, failure error) {
	facts.asked = r.options.Admitter != nil
	said := r.library.read(bundle)
	facts.invalid = said.failure
	if facts.invalid == nil {
		if facts.denied, failure = r.options.ask(ctx, bundle); failure != nil {
			facts.denied = &problem{"NotJudged", "asking the policies: " + failure.Error()}
		}
	}
	recorded, err := r.records.read(ctx, bundleKind, bundle)
	if err != nil {
		return facts, errors.Join(failure, err)
	}
	good := facts.invalid == nil && facts.denied == nil
	inForce := &bound{bundle, bundle.Spec.InstanceSelector, said}
	if !good {
		inForce = r.library.lastGood(bundle, recorded)
	}
	facts.kept = kept(bundle, inForce)
	if inForce != nil {
		facts.stored, err = r.store(ctx, inForce, good, recorded)
		failure = errors.Join(failure, err)
	}
	if err := r.gateways(ctx, bundle, inForce, &facts); err != nil {
		return facts, errors.Join(failure, err)
	}
	return facts, failure
}

// store has policies where gateways take them from, and in the ConfigMap of the bundle,
// which people read. Only what is good is recorded as the last that was.
func (r *BundleReconciler) store(ctx context.Context, inForce *bound, good bool, recorded *record) (*problem, error) {
	owns := recorded != nil && recorded.owns
	bundle, record := inForce.bundle, record{data: inForce.content.files, selector: inForce.selector, owns: owns}
	if good {
		if err := r.records.keep(ctx, bundleKind, bundleManager, bundle, record); err != nil {
			return applyFailed(err), err
		}
	}
	_, err := r.writer.keep(ctx, owner{bundle, owns}, bundleMap(bundle, record.data), &corev1.ConfigMap{})
	var known *problem
	switch {
	case errors.As(err, &known):
		return known, nil
	case err != nil:
		return applyFailed(err), err
	case good && !owns:
		record.owns = true
		if err := r.records.keep(ctx, bundleKind, bundleManager, bundle, record); err != nil {
			return applyFailed(err), err
		}
	}
	return nil, nil
}

func applyFailed(err error) *problem {
	return &problem{ReasonApplyFailed, "Failed to apply policies: " + err.Error()}
}

// kept is how many policies of the spec the last good content has just so.
func kept(bundle *v1.PolicyBundle, inForce *bound) (n int) {
	if inForce == nil {
		return 0
	}
	for _, policy := range bundle.Spec.Policies {
		if text, found := inForce.content.files[policyKey(policy)]; found && text == policy.Content {
			n++
		}
	}
	return n
}

// gateways counts the instances that the bundle binds, and those that run all policies
// that bind them.
func (r *BundleReconciler) gateways(ctx context.Context, bundle *v1.PolicyBundle, inForce *bound, facts *bundleFacts) error {
	var instances v1.OpenClawInstanceList
	scope := []client.ListOption{client.UnsafeDisableDeepCopy}
	if bundle.Namespace != r.options.RootNamespace {
		scope = append(scope, client.InNamespace(bundle.Namespace))
	}
	if err := r.client.List(ctx, &instances, scope...); err != nil {
		return fmt.Errorf("listing OpenClawInstances: %w", err)
	}
	others := map[string][]bound{}
	for i := range instances.Items {
		instance := &instances.Items[i]
		if !instance.DeletionTimestamp.IsZero() || !r.affects(bundle, inForce, instance) {
			continue
		}
		if _, known := others[instance.Namespace]; !known {
			found, err := r.boundIn(ctx, instance.Namespace, bundle, inForce)
			if err != nil {
				return err
			}
			others[instance.Namespace] = found
		}
		deployment, err := ownDeployment(ctx, r.client, instance)
		if err != nil {
			return err
		}
		if deployment == nil {
			continue // it has no gateways yet, or cannot have any: its own status says why
		}
		facts.gateways++
		target := r.library.compositionFor(instance, others[instance.Namespace])
		r.compare(bundle, instance, deployment, target, facts)
	}
	return nil
}

// compare notes whether the gateways of an instance run what they are to run, and what
// is in the way where they do not.
func (r *BundleReconciler) compare(bundle *v1.PolicyBundle, instance *v1.OpenClawInstance, deployment *appsv1.Deployment, target *composition, facts *bundleFacts) {
	at := instance.Namespace + "/" + instance.Name
	left := 0
	for _, l := range target.leftOf(r.library.nameOf(bundle)) {
		left += l.policies
		facts.notInForce = append(facts.notInForce, notInForce{at, &problem{l.why.reason,
			fmt.Sprintf("%d policies of scope %s are left out: %s", l.policies, l.level, l.why.message)}})
	}
	facts.left = max(facts.left, left)
	degraded := meta.FindStatusCondition(instance.Status.Conditions, v1.ConditionDegraded)
	switch {
	case target.failure != nil:
		facts.notInForce = append(facts.notInForce, notInForce{at, target.failure})
	case left > 0:
	case runs(deployment, target.hash):
		facts.synced++
	case degraded != nil && degraded.Status == metav1.ConditionTrue:
		facts.notInForce = append(facts.notInForce, notInForce{at, &problem{degraded.Reason, degraded.Message}})
	}
}

// affects says whether some policy of the bundle binds the instance.
func (r *BundleReconciler) affects(bundle *v1.PolicyBundle, inForce *bound, instance *v1.OpenClawInstance) bool {
	selector := bundle.Spec.InstanceSelector
	if inForce != nil {
		selector = inForce.selector
	}
	binds, enterpriseOnly := r.library.binding(bundle.Namespace, selector, instance)
	if !binds || !enterpriseOnly {
		return binds
	}
	return slices.ContainsFunc(bundle.Spec.Policies, func(p v1.Policy) bool { return p.Scope == v1.ScopeEnterprise })
}

// boundIn are the bundles of a namespace, and in place of what the cache says of this
// one, what was just found.
func (r *BundleReconciler) boundIn(ctx context.Context, namespace string, bundle *v1.PolicyBundle, inForce *bound) ([]bound, error) {
	bundles, err := r.library.bundles(ctx, r.client, namespace)
	if err != nil {
		return nil, err
	}
	contents, _, err := r.library.contentsOf(ctx, r.records, bundles)
	if err != nil {
		return nil, err
	}
	var out []bound
	for _, b := range contents {
		if b.bundle.UID != bundle.UID {
			out = append(out, b)
		}
	}
	if inForce != nil {
		out = append(out, *inForce)
	}
	return out, nil
}

// write patches the status, when it differs.
func (r *BundleReconciler) write(ctx context.Context, bundle *v1.PolicyBundle, next v1.PolicyBundleStatus) error {
	if equality.Semantic.DeepEqual(bundle.Status, next) {
		return nil
	}
	was := bundle.Status.Conditions
	before := client.MergeFromWithOptions(bundle.DeepCopy(), client.MergeFromWithOptimisticLock{})
	bundle.Status = next
	if err := r.client.Status().Patch(ctx, bundle, before, client.FieldOwner(bundleManager)); err != nil {
		return fmt.Errorf("writing the status of PolicyBundle %s: %w", bundle.Name, err)
	}
	tell(r.options.Events, bundle, was, next.Conditions, map[string]metav1.ConditionStatus{
		v1.ConditionPolicyReady: metav1.ConditionFalse,
	})
	return nil
}
