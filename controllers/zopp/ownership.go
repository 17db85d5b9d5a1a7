package zopp

import (
	"maps"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/lintel-policy/lintel/api/zopp/v1alpha1"
	"github.com/lintel-policy/lintel/controllers/object"
	"github.com/lintel-policy/lintel/controllers/system"
)

const (
	// ownerLabel holds the uid of the ZoppSecretSync that a Secret was created for, and
	// ownerAnnotation its name, for users: owner references do not work across namespaces.
	ownerLabel      = v1alpha1.GroupName + "/secretsync-uid"
	ownerAnnotation = v1alpha1.GroupName + "/secretsync"
	// managedByLabel is on such a Secret as the original operator sets it.
	managedByLabel = "app.kubernetes.io/managed-by"
)

// targetOf is the Secret that a ZoppSecretSync fills.
func targetOf(sync *v1alpha1.ZoppSecretSync) client.ObjectKey {
	return client.ObjectKey{Namespace: sync.SecretNamespace(), Name: sync.Spec.Target.SecretName}
}

// syncOf is the ZoppSecretSync of a Secret in another namespace.
func syncOf(secret *metav1.PartialObjectMetadata) *system.Reference {
	namespace, name, named := strings.Cut(secret.Annotations[ownerAnnotation], "/")
	uid := secret.Labels[ownerLabel]
	if !named || uid == "" {
		return nil
	}
	return &system.Reference{
		Kind:           v1alpha1.SchemeGroupVersion.WithKind("ZoppSecretSync"),
		NamespacedName: client.ObjectKey{Namespace: namespace, Name: name}, UID: types.UID(uid),
	}
}

// isMadeFor reports whether a Secret was created for a ZoppSecretSync, which may then write and
// delete it.
func isMadeFor(sync *v1alpha1.ZoppSecretSync) object.Ours {
	return func(secret client.Object) bool {
		return metav1.IsControlledBy(secret, sync) || secret.GetLabels()[ownerLabel] == string(sync.UID)
	}
}

// isLegacyOf reports whether a Secret was created by the original operator and has no other
// controller, in the namespace of the ZoppSecretSync that names it.
func isLegacyOf(sync *v1alpha1.ZoppSecretSync, secret *corev1.Secret) bool {
	return secret.Namespace == sync.Namespace && metav1.GetControllerOf(secret) == nil && secret.Labels[ownerLabel] == "" &&
		secret.Annotations[v1alpha1.ManagedAnnotation] == "true" && secret.Labels[managedByLabel] == legacyManager
}

// extrasOf returns the metadata of a Secret that was created for a ZoppSecretSync.
func extrasOf(sync *v1alpha1.ZoppSecretSync) extras {
	more := extras{labels: map[string]string{}, annotations: map[string]string{}}
	maps.Copy(more.labels, sync.Spec.Target.Labels)
	maps.Copy(more.annotations, sync.Spec.Target.Annotations)
	more.labels[managedByLabel], more.labels[ownerLabel] = legacyManager, string(sync.UID)
	more.annotations[v1alpha1.ManagedAnnotation] = "true"
	more.annotations[ownerAnnotation] = client.ObjectKeyFromObject(sync).String()
	if targetOf(sync).Namespace == sync.Namespace {
		more.owners = []metav1.OwnerReference{*metav1.NewControllerRef(sync, v1alpha1.SchemeGroupVersion.WithKind("ZoppSecretSync"))}
	}
	return more
}
