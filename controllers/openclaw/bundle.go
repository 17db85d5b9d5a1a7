package openclaw

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1 "github.com/lintel-policy/lintel/api/openclaw/v1"
	"github.com/lintel-policy/lintel/controllers/object"
	"github.com/lintel-policy/lintel/policies/rules"
)

// BundleReconciler stores the policies of PolicyBundles and says how far gateways have
// loaded them. Gateways themselves are the other reconciler's.
type BundleReconciler struct {
	client  client.Client
	applier *object.Applier
	records recordStore
	library *library
	admit   rules.Admitter
	events  events.EventRecorder
}

type bundleReport = object.Report[v1.PolicyBundleStatus]

func (r *BundleReconciler) reporter() object.Reporter[*v1.PolicyBundle, v1.PolicyBundleStatus] {
	return object.Reporter[*v1.PolicyBundle, v1.PolicyBundleStatus]{
		Client: r.client, Manager: bundleManager, Action: "Reconcile", Events: r.events,
		Status:     func(b *v1.PolicyBundle) *v1.PolicyBundleStatus { return &b.Status },
		Conditions: func(s *v1.PolicyBundleStatus) []metav1.Condition { return s.Conditions },
		Gone:       func(ctx context.Context, name client.ObjectKey) error { return r.records.remove(ctx, bundleKind, name) },
		News:       map[string]object.News{v1.ConditionPolicyReady: object.Turned(metav1.ConditionFalse)},
	}
}

// Reconcile implements reconcile.Reconciler.
func (r *BundleReconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	return r.reporter().Reconcile(ctx, request, &v1.PolicyBundle{}, r.carryOut)
}

// carryOut stores the effective policies of a bundle, and computes its status.
func (r *BundleReconciler) carryOut(ctx context.Context, bundle *v1.PolicyBundle) (bundleReport, error) {
	if !bundle.DeletionTimestamp.IsZero() {
		return bundleReport{}, nil
	}
	facts, failure := r.gather(ctx, bundle)
	if facts.gathered {
		failure = errors.Join(failure, r.apply(ctx, bundle, &facts))
	}
	next := bundleStatus(bundle, facts, time.Now())
	report := bundleReport{Status: &next}
	if failure == nil && facts.stored != nil {
		report.Again = foreignInterval
	}
	return report, failure
}

// gather reads the spec of a bundle and its last valid revision, and evaluates the rules for it.
func (r *BundleReconciler) gather(ctx context.Context, bundle *v1.PolicyBundle) (facts bundleFacts, failure error) {
	latest := r.library.read(bundle)
	facts.invalid = latest.failure
	if facts.invalid == nil {
		if facts.denied, failure = ask(ctx, r.admit, bundle); failure != nil {
			facts.invalid = notEvaluated(failure)
		}
	}
	facts.answered = failure == nil
	var err error
	if facts.record, err = r.records.read(ctx, bundleKind, bundle); err != nil {
		return facts, errors.Join(failure, err)
	}
	facts.gathered = true
	facts.inForce = &bound{bundle, bundle.Spec.InstanceSelector, latest}
	if !facts.good() {
		facts.inForce = r.library.lastGood(bundle, facts.record)
	}
	facts.kept = kept(bundle, facts.inForce)
	return facts, failure
}

// apply stores the effective policies, and observes which gateways run them.
func (r *BundleReconciler) apply(ctx context.Context, bundle *v1.PolicyBundle, facts *bundleFacts) (failure error) {
	if facts.inForce != nil {
		facts.stored, failure = r.store(ctx, facts)
	}
	return errors.Join(failure, r.gateways(ctx, bundle, facts.inForce, facts))
}

// store writes a valid revision to the record, from which gateways get their policies, and the
// effective policies to the ConfigMap of the bundle, which users read.
func (r *BundleReconciler) store(ctx context.Context, facts *bundleFacts) (*problem, error) {
	inForce, good := facts.inForce, facts.good()
	bundle, record := inForce.bundle, record{data: inForce.content.files, selector: inForce.selector, owns: facts.record != nil && facts.record.owns}
	if good {
		if err := r.records.keep(ctx, bundleKind, bundleManager, bundle, record); err != nil {
			return applyFailed(err), err
		}
	}
	of := owner{bundle, record.owns}
	_, err := r.applier.Replace(ctx, of.controls, bundleMap(bundle, record.data), object.MetadataOf(object.ConfigMapKind))
	switch known := of.problemOf(err); {
	case known != nil:
		return known, nil
	case err != nil:
		return applyFailed(err), err
	case good && !record.owns:
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
	if bundle.Namespace != r.library.rootNamespace {
		scope = append(scope, client.InNamespace(bundle.Namespace))
	}
	if err := r.client.List(ctx, &instances, scope...); err != nil {
		return fmt.Errorf("listing OpenClawInstances: %w", err)
	}
	others := map[string][]bound{}
	for i := range instances.Items {
		instance := &instances.Items[i]
		if !r.affects(bundle, inForce, instance) {
			continue
		}
		if _, known := others[instance.Namespace]; !known {
			found, err := r.boundIn(ctx, instance.Namespace, bundle, inForce)
			if err != nil {
				return err
			}
			others[instance.Namespace] = found
		}
		has, err := r.rollout(ctx, instance)
		if err != nil {
			return err
		}
		if has.deployment == nil && len(has.pods) == 0 {
			continue // without gateways: the status of the instance reports the reason
		}
		facts.gateways++
		target := r.library.compositionFor(instance, others[instance.Namespace])
		r.compare(bundle, instance, has, target, facts)
	}
	return r.orphans(ctx, bundle, instances.Items, scope, facts)
}

// rollout is what the gateways of an instance run.
func (r *BundleReconciler) rollout(ctx context.Context, instance *v1.OpenClawInstance) (has rollout, err error) {
	if has.deployment, err = ownDeployment(ctx, r.client, instance); err != nil {
		return has, err
	}
	if has.signed, err = r.records.readSigned(ctx, r.records.client, instance); err != nil {
		return has, err
	}
	has.pods, err = podsOf(ctx, r.client, client.ObjectKeyFromObject(instance))
	return has, err
}

// orphans reports Pods of gateways whose instance does not exist: nothing replaces them.
func (r *BundleReconciler) orphans(ctx context.Context, bundle *v1.PolicyBundle, instances []v1.OpenClawInstance, scope []client.ListOption, facts *bundleFacts) error {
	if !hasEnterprise(bundle) {
		return nil
	}
	var list corev1.PodList
	if err := r.client.List(ctx, &list, scope...); err != nil {
		return fmt.Errorf("listing Pods of gateways: %w", err)
	}
	known := map[client.ObjectKey]bool{}
	for i := range instances {
		known[client.ObjectKeyFromObject(&instances[i])] = true
	}
	orphaned := map[client.ObjectKey][]corev1.Pod{}
	for _, pod := range list.Items {
		if of := (client.ObjectKey{Namespace: pod.Namespace, Name: pod.Labels[instanceLabel]}); !known[of] && !ended(&pod) {
			orphaned[of] = append(orphaned[of], pod)
		}
	}
	for _, of := range slices.SortedFunc(maps.Keys(orphaned), func(a, b client.ObjectKey) int { return strings.Compare(a.String(), b.String()) }) {
		facts.gateways++
		facts.notInForce = append(facts.notInForce, notInForce{of.String(), &problem{ReasonOrphaned,
			"the object does not exist and its gateways do; delete what starts them: " + rollout{}.describe(orphaned[of])}})
	}
	return nil
}

// compare records whether the gateways of an instance run the desired policies, and the obstacle
// if they do not.
func (r *BundleReconciler) compare(bundle *v1.PolicyBundle, instance *v1.OpenClawInstance, has rollout, target *composition, facts *bundleFacts) {
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
	case has.runs(target.revision):
		facts.synced++
	case !instance.DeletionTimestamp.IsZero():
		facts.notInForce = append(facts.notInForce, notInForce{at, &problem{ReasonDeleting, "its gateways are being deleted: " + has.describe(has.pods)}})
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
	return hasEnterprise(bundle)
}

func hasEnterprise(bundle *v1.PolicyBundle) bool {
	return slices.ContainsFunc(bundle.Spec.Policies, func(p v1.Policy) bool { return p.Scope == v1.ScopeEnterprise })
}

// boundIn returns the bundles of a namespace. The given bundle replaces its cached, older
// version.
func (r *BundleReconciler) boundIn(ctx context.Context, namespace string, bundle *v1.PolicyBundle, inForce *bound) ([]bound, error) {
	bundles, err := r.library.bundles(ctx, r.client, namespace)
	if err != nil {
		return nil, err
	}
	contents, _, err := r.library.contentsOf(ctx, r.records, bundles)
	if err != nil {
		return nil, err
	}
	out := slices.DeleteFunc(contents, func(b bound) bool { return b.bundle.UID == bundle.UID })
	if inForce != nil {
		out = append(out, *inForce)
	}
	return out, nil
}
