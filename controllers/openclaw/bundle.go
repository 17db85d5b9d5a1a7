package openclaw

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
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
	library *library
	options Options
}

// Reconcile implements reconcile.Reconciler.
func (r *BundleReconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	bundle := &v1.PolicyBundle{}
	if err := r.client.Get(ctx, request.NamespacedName, bundle); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
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
	inForce := said
	if facts.invalid != nil || facts.denied != nil {
		stored, err := storedMap(ctx, r.client, bundle)
		if err != nil {
			return facts, errors.Join(failure, err)
		}
		inForce = usable(r.library.stored(bundle, stored))
		facts.kept = kept(bundle, inForce)
	} else {
		facts.kept = len(bundle.Spec.Policies)
		_, err := r.writer.keep(ctx, bundle, bundleMap(bundle, said.files), &corev1.ConfigMap{})
		if !errors.As(err, &facts.stored) && err != nil {
			facts.stored, failure = &problem{ReasonApplyFailed, "Failed to apply policies: " + err.Error()}, err
		}
	}
	if err := r.gateways(ctx, bundle, inForce, &facts); err != nil {
		return facts, errors.Join(failure, err)
	}
	return facts, failure
}

// kept is how many policies of the spec the last good content has just so.
func kept(bundle *v1.PolicyBundle, inForce *content) (n int) {
	if inForce == nil {
		return 0
	}
	for _, policy := range bundle.Spec.Policies {
		if text, found := inForce.files[policyKey(policy)]; found && text == policy.Content {
			n++
		}
	}
	return n
}

// gateways counts the instances that the bundle binds, and those that run all policies
// that bind them.
func (r *BundleReconciler) gateways(ctx context.Context, bundle *v1.PolicyBundle, inForce *content, facts *bundleFacts) error {
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
		if !instance.DeletionTimestamp.IsZero() || !r.affects(bundle, instance) {
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
		if target.failure == nil && runs(deployment, target.hash) {
			facts.synced++
		}
	}
	return nil
}

// affects says whether some policy of the bundle binds the instance.
func (r *BundleReconciler) affects(bundle *v1.PolicyBundle, instance *v1.OpenClawInstance) bool {
	binds, enterpriseOnly := r.library.binding(bundle, instance)
	if !binds || !enterpriseOnly {
		return binds
	}
	for _, policy := range bundle.Spec.Policies {
		if policy.Scope == v1.ScopeEnterprise {
			return true
		}
	}
	return false
}

// boundIn are the bundles of a namespace, and in place of what the cache says of this
// one, what was just found.
func (r *BundleReconciler) boundIn(ctx context.Context, namespace string, bundle *v1.PolicyBundle, inForce *content) ([]bound, error) {
	bundles, err := r.library.bundles(ctx, r.client, namespace)
	if err != nil {
		return nil, err
	}
	contents, _, err := r.library.contentsOf(ctx, r.client, bundles)
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
		out = append(out, bound{bundle, inForce})
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
