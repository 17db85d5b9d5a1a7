package zopp

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/lintel-policy/lintel/api/zopp/v1alpha1"
	"github.com/lintel-policy/lintel/controllers/system"
)

// controls are the Secrets of ZoppSecretSyncs. Annotated Secrets are their users' own.
func (a *admitter) controls() *system.Controls {
	if !a.settings.secretSyncs {
		return nil
	}
	return &system.Controls{
		ManagedBy: legacyManager, Group: v1alpha1.GroupName,
		Resources: system.Resources("", "secrets"), Owner: syncOf, Namespaces: a.settings.namespaces,
	}
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
