package openclaw

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/lintel-policy/lintel/api/openclaw/v1"
)

// bundles are the PolicyBundles of a namespace and of the root namespace.
func (l *library) bundles(ctx context.Context, c client.Reader, namespace string) ([]v1.PolicyBundle, error) {
	var all []v1.PolicyBundle
	namespaces := []string{namespace}
	if l.rootNamespace != "" && l.rootNamespace != namespace {
		namespaces = append(namespaces, l.rootNamespace)
	}
	for _, one := range namespaces {
		var list v1.PolicyBundleList
		if err := c.List(ctx, &list, client.InNamespace(one), client.UnsafeDisableDeepCopy); err != nil {
			return nil, fmt.Errorf("listing the PolicyBundles of namespace %s: %w", one, err)
		}
		all = append(all, list.Items...)
	}
	return all, nil
}

// bound is a bundle with what gateways are to run of it.
type bound struct {
	bundle  *v1.PolicyBundle
	content *content
}

// contentsOf gathers what is in force of each bundle. Bundles of which nothing was ever
// good are left out. unread says that there is one that nobody has read yet.
func (l *library) contentsOf(ctx context.Context, c client.Reader, bundles []v1.PolicyBundle) (out []bound, unread bool, err error) {
	for i := range bundles {
		if bundles[i].Status.ObservedGeneration == 0 {
			unread = true
		}
		stored, err := storedMap(ctx, c, &bundles[i])
		if err != nil {
			return nil, false, err
		}
		if inForce := l.inForce(&bundles[i], stored); inForce != nil {
			out = append(out, bound{&bundles[i], inForce})
		}
	}
	return out, unread, nil
}

// storedMap is the ConfigMap of a bundle: nil where there is none.
func storedMap(ctx context.Context, c client.Reader, bundle *v1.PolicyBundle) (*corev1.ConfigMap, error) {
	stored := &corev1.ConfigMap{}
	err := c.Get(ctx, client.ObjectKey{Namespace: bundle.Namespace, Name: bundleMapName(bundle.Name)}, stored)
	if client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("reading the ConfigMap of PolicyBundle %s: %w", bundle.Name, err)
	}
	if err != nil {
		return nil, nil
	}
	return stored, nil
}

// compositionFor is what the gateways of an instance are to load.
func (l *library) compositionFor(instance *v1.OpenClawInstance, bundles []bound) *composition {
	var policies []applied
	for _, b := range bundles {
		if binds, enterpriseOnly := l.binding(b.bundle, instance); binds {
			policies = append(policies, applied{b.content, enterpriseOnly})
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
