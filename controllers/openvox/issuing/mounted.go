package issuing

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/lintel-policy/lintel/api/openvox/v1alpha1"
	"github.com/lintel-policy/lintel/controllers/openvox/layout"
)

// mountedBy returns the Server or Database that mounts a Certificate's key in its Pods and is
// not the CA's own server, or "" if there is none. The reference in its current spec does not
// matter: its Pods keep running if that spec cannot be applied.
func mountedBy(ctx context.Context, reader client.Reader, certificate *v1alpha1.Certificate) (string, error) {
	var servers appsv1.DeploymentList
	var databases appsv1.StatefulSetList
	namespace, secret := client.InNamespace(certificate.Namespace), layout.TLSSecret(certificate.Name)
	if err := reader.List(ctx, &servers, namespace, client.UnsafeDisableDeepCopy); err != nil {
		return "", fmt.Errorf("listing the Deployments of %s: %w", certificate.Namespace, err)
	}
	if err := reader.List(ctx, &databases, namespace, client.UnsafeDisableDeepCopy); err != nil {
		return "", fmt.Errorf("listing the StatefulSets of %s: %w", certificate.Namespace, err)
	}
	for i := range servers.Items {
		template := &servers.Items[i].Spec.Template
		if template.Labels[layout.CAServerLabel] != "true" && mounts(template.Spec, secret) {
			return "Server " + servers.Items[i].Name, nil
		}
	}
	for i := range databases.Items {
		if mounts(databases.Items[i].Spec.Template.Spec, secret) {
			return "Database " + databases.Items[i].Name, nil
		}
	}
	return "", nil
}

// mounts reports whether a Pod mounts a Secret.
func mounts(pod corev1.PodSpec, secret string) bool {
	for _, volume := range pod.Volumes {
		if volume.Secret != nil && volume.Secret.SecretName == secret {
			return true
		}
		if volume.Projected == nil {
			continue
		}
		for _, source := range volume.Projected.Sources {
			if source.Secret != nil && source.Secret.Name == secret {
				return true
			}
		}
	}
	return false
}
