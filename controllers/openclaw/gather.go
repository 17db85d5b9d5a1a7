package openclaw

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/lintel-policy/lintel/api/openclaw/v1"
)

// namespacesFor are those whose bundles bind the instances of a namespace.
func (l *library) namespacesFor(namespace string) []string {
	if l.rootNamespace == "" || l.rootNamespace == namespace {
		return []string{namespace}
	}
	return []string{namespace, l.rootNamespace}
}

// bundles are the PolicyBundles of a namespace and of the root namespace.
func (l *library) bundles(ctx context.Context, c client.Reader, namespace string) ([]v1.PolicyBundle, error) {
	var all []v1.PolicyBundle
	for _, one := range l.namespacesFor(namespace) {
		var list v1.PolicyBundleList
		if err := c.List(ctx, &list, client.InNamespace(one), client.UnsafeDisableDeepCopy); err != nil {
			return nil, fmt.Errorf("listing the PolicyBundles of namespace %s: %w", one, err)
		}
		all = append(all, list.Items...)
	}
	return all, nil
}

// bound is what gateways are to run of a bundle, and whom it binds: as it was when it
// was last found good.
type bound struct {
	bundle   *v1.PolicyBundle
	selector *metav1.LabelSelector
	content  *content
}

// contentsOf returns the effective content of each bundle. Bundles that were never valid are
// omitted; unread names a bundle that has not been reconciled yet.
func (l *library) contentsOf(ctx context.Context, kept recordStore, bundles []v1.PolicyBundle) (out []bound, unread string, err error) {
	for i := range bundles {
		bundle := &bundles[i]
		recorded, err := kept.read(ctx, bundleKind, bundle)
		if err != nil {
			return nil, "", err
		}
		if recorded == nil && bundle.Status.ObservedGeneration == 0 {
			unread = bundle.Name
		}
		if inForce := l.lastGood(bundle, recorded); inForce != nil {
			out = append(out, *inForce)
		}
	}
	return out, unread, nil
}

// compositionFor is what the gateways of an instance are to load.
func (l *library) compositionFor(instance *v1.OpenClawInstance, bundles []bound) *composition {
	var policies []applied
	for _, b := range bundles {
		if binds, enterpriseOnly := l.binding(b.bundle.Namespace, b.selector, instance); binds {
			policies = append(policies, applied{b.content, enterpriseOnly, l.isRoot(b.bundle.Namespace)})
		}
	}
	return l.compose(policies)
}

// ownDeployment is the Deployment of an instance: nil where there is none of its own.
func ownDeployment(ctx context.Context, c client.Reader, instance *v1.OpenClawInstance) (*appsv1.Deployment, error) {
	deployment := &appsv1.Deployment{}
	err := c.Get(ctx, client.ObjectKey{Namespace: instance.Namespace, Name: gatewayName(instance.Name)}, deployment)
	if client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("reading the Deployment of OpenClawInstance %s: %w", instance.Name, err)
	}
	if err != nil || !metav1.IsControlledBy(deployment, instance) {
		return nil, nil
	}
	return deployment, nil
}
