package openvox

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/lintel-policy/lintel/api/openvox/v1alpha1"
	"github.com/lintel-policy/lintel/controllers/openvox/layout"
	"github.com/lintel-policy/lintel/controllers/system"
)

var authorityKind = v1alpha1.SchemeGroupVersion.WithKind("CertificateAuthority")

// controls are the objects of all kinds of OpenVox. PersistentVolumeClaims are not among
// them: a StatefulSet creates some, and of one that exists users enlarge the volume. Nor are
// Roles, RoleBindings and ServiceAccounts: manifests of an installation have the label, and
// must be applied while no manager can start without them. Most
// names that OpenVox needs end in common words, as -config; those of the policies by which a
// CA signs and of the record of its revocations do not.
func (a *admitter) controls() *system.Controls {
	secrets := system.Resources("", "secrets")
	return &system.Controls{
		ManagedBy: layout.ManagedBy, Group: v1alpha1.GroupName,
		Resources: slices.Concat(
			secrets, system.Resources("", "configmaps", "services"),
			system.Resources("apps", "deployments", "statefulsets"),
			system.Resources("autoscaling", "horizontalpodautoscalers"),
			system.Resources("batch", "jobs"),
			system.Resources("gateway.networking.k8s.io", "tlsroutes"),
			system.Resources("networking.k8s.io", "networkpolicies"),
			system.Resources(v1alpha1.GroupName, "certificates"),
			system.Resources("policy", "poddisruptionbudgets"),
		),
		Names: []system.Name{
			{Suffix: layout.AutosignSecret(""), Resources: secrets, Owner: authorityKind},
			{Suffix: layout.RevocationsSecret(""), Resources: secrets, Owner: authorityKind},
		},
		Owner:      authorityOf,
		Namespaces: a.namespaces,
	}
}

// authorityOf is the CertificateAuthority of an object that outlives it.
func authorityOf(object *metav1.PartialObjectMetadata) *system.Reference {
	name := object.Labels[layout.CALabel]
	if name == "" {
		return nil
	}
	return &system.Reference{Kind: authorityKind, NamespacedName: client.ObjectKey{Namespace: object.Namespace, Name: name}, Kept: true}
}
