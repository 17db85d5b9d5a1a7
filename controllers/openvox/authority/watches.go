package authority

import (
	"context"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	v1alpha1 "github.com/lintel-policy/lintel/api/openvox/v1alpha1"
	"github.com/lintel-policy/lintel/controllers/object"
	"github.com/lintel-policy/lintel/controllers/openvox/layout"
)

// watches maps changed objects to the affected CAs, by the cache.
type watches struct{ reader client.Reader }

// inClusterSources returns the watches on the objects that in-cluster CAs consist of. If in-cluster
// CAs are disabled, only their status is reported.
func (w watches) inClusterSources(c, all cluster.Cluster, externalOnly bool) []source.Source {
	list := []source.Source{object.Self(c, &v1alpha1.CertificateAuthority{})}
	if externalOnly {
		return list
	}
	list = append(list,
		object.Mapped(all, object.MetadataOf(object.SecretKind), w.authoritiesOfIntermediateSecret),
		object.Mapped(c, &v1alpha1.Config{}, authorityOfConfig),
		object.Mapped(c, &v1alpha1.Certificate{}, authorityOfCertificate),
		object.Mapped(c, client.Object(&corev1.Secret{}), labelled))
	for _, kind := range Kinds() {
		list = append(list, object.Mapped(c, kind, labelled))
	}
	return append(list,
		object.Mapped(c, &corev1.Pod{}, func(ctx context.Context, p *corev1.Pod) []reconcile.Request { return labelled(ctx, p) },
			object.Updates(func(before, after *corev1.Pod) bool { return before.Spec.NodeName != after.Spec.NodeName })),
		object.Mapped(c, &v1alpha1.Server{}, w.authorityOfServer))
}

func authorityOfConfig(_ context.Context, c *v1alpha1.Config) []reconcile.Request {
	return object.Request(c.Namespace, c.Spec.AuthorityRef)
}

func authorityOfCertificate(_ context.Context, c *v1alpha1.Certificate) []reconcile.Request {
	return object.Request(c.Namespace, c.Spec.AuthorityRef)
}

// labelled maps an object to the CA in its label.
func labelled(_ context.Context, o client.Object) []reconcile.Request {
	name := o.GetLabels()[layout.CALabel]
	if name == "" {
		return nil
	}
	return object.Request(o.GetNamespace(), name)
}

// authorityOfDatabase returns the CA of the Certificate that a Database names.
func (w watches) authorityOfDatabase(ctx context.Context, d *v1alpha1.Database) []reconcile.Request {
	var certificate v1alpha1.Certificate
	if err := w.reader.Get(ctx, client.ObjectKey{Namespace: d.Namespace, Name: d.Spec.CertificateRef}, &certificate); err != nil {
		return nil // the creation of the Certificate is an event of its CA
	}
	return object.Request(d.Namespace, certificate.Spec.AuthorityRef)
}

// authorityOfServer returns the CA that a Server runs.
func (w watches) authorityOfServer(ctx context.Context, server *v1alpha1.Server) []reconcile.Request {
	var config v1alpha1.Config
	if err := w.reader.Get(ctx, client.ObjectKey{Namespace: server.Namespace, Name: server.Spec.ConfigRef}, &config); err != nil {
		return nil // the creation of the Config is an event of its CA
	}
	return object.Request(config.Namespace, config.Spec.AuthorityRef)
}

// authoritiesOfPool returns the CAs of the namespace: one of them reserves the host name of the
// pool.
func (w watches) authoritiesOfPool(ctx context.Context, pool *v1alpha1.Pool) []reconcile.Request {
	return object.RequestsFor[*v1alpha1.CertificateAuthority](ctx, w.reader, &v1alpha1.CertificateAuthorityList{}, nil, client.InNamespace(pool.Namespace))
}

// authoritiesOfSecret returns the CAs whose certificates or credentials a Secret has.
func (w watches) authoritiesOfSecret(ctx context.Context, secret *metav1.PartialObjectMetadata) []reconcile.Request {
	return object.RequestsFor(ctx, w.reader, &v1alpha1.CertificateAuthorityList{}, func(ca *v1alpha1.CertificateAuthority) bool {
		return layout.CASecret(ca) == secret.Name || ca.Spec.External != nil && ca.Spec.External.TLSSecretRef == secret.Name
	}, client.InNamespace(secret.Namespace))
}

// authoritiesOfCRL returns the in-cluster CAs whose CRL is in a Secret.
func (w watches) authoritiesOfCRL(ctx context.Context, secret *metav1.PartialObjectMetadata) []reconcile.Request {
	return object.RequestsFor(ctx, w.reader, &v1alpha1.CertificateAuthorityList{}, func(ca *v1alpha1.CertificateAuthority) bool {
		return layout.CRLSecret(ca.Name) == secret.Name && ca.DeletionTimestamp.IsZero()
	}, client.InNamespace(secret.Namespace))
}

// authoritiesOfIntermediateSecret returns the CAs that import their keys from a Secret.
func (w watches) authoritiesOfIntermediateSecret(ctx context.Context, secret *metav1.PartialObjectMetadata) []reconcile.Request {
	return object.RequestsFor(ctx, w.reader, &v1alpha1.CertificateAuthorityList{}, func(ca *v1alpha1.CertificateAuthority) bool {
		return ca.Spec.IntermediateCA.Enabled && ca.Spec.IntermediateCA.SecretName == secret.Name
	}, client.InNamespace(secret.Namespace))
}

// authorityOfAutosignSecret maps a Secret, regardless of its owner, to the CA whose hook reads
// it.
func authorityOfAutosignSecret(_ context.Context, secret *metav1.PartialObjectMetadata) []reconcile.Request {
	ca, ok := strings.CutSuffix(secret.Name, layout.AutosignSecret(""))
	if !ok {
		return nil
	}
	return object.Request(secret.Namespace, ca)
}

// authoritiesOfPolicySecret are those of the policies that read a Secret.
func (w watches) authoritiesOfPolicySecret(ctx context.Context, secret *metav1.PartialObjectMetadata) (requests []reconcile.Request) {
	var list v1alpha1.SigningPolicyList
	if err := w.reader.List(ctx, &list, client.InNamespace(secret.Namespace), client.UnsafeDisableDeepCopy); err != nil {
		log.FromContext(ctx).Error(err, "listing SigningPolicies")
		return nil
	}
	for i := range list.Items {
		for _, attribute := range list.Items[i].Spec.CSRAttributes {
			if attribute.ValueFrom != nil && attribute.ValueFrom.SecretKeyRef.Name == secret.Name {
				requests = append(requests, object.Request(secret.Namespace, list.Items[i].Spec.CertificateAuthorityRef)...)
			}
		}
	}
	return requests
}

// Kinds returns the kinds that make up an in-cluster CA, in addition to Secrets.
func Kinds() []client.Object {
	return []client.Object{
		&corev1.PersistentVolumeClaim{}, &corev1.Service{}, &corev1.ServiceAccount{}, &batchv1.Job{}, &rbacv1.Role{}, &rbacv1.RoleBinding{},
	}
}
