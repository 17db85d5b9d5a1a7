package openvox

import (
	"context"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	v1alpha1 "github.com/lintel-policy/lintel/api/openvox/v1alpha1"
	"github.com/lintel-policy/lintel/controllers/object"
)

// watches say whom a change concerns, by the cache.
type watches struct{ reader client.Reader }

func authorityOfCertificate(_ context.Context, c *v1alpha1.Certificate) []reconcile.Request {
	return object.Request(c.Namespace, c.Spec.AuthorityRef)
}

// labelled is the CA of an object that was made for it.
func labelled(_ context.Context, o client.Object) []reconcile.Request {
	name := o.GetLabels()[caLabel]
	if name == "" {
		return nil
	}
	return object.Request(o.GetNamespace(), name)
}

// certificatesOf are those that wait for a CA, or ask it.
func (w watches) certificatesOf(ctx context.Context, ca *v1alpha1.CertificateAuthority) []reconcile.Request {
	return object.Requests(ctx, w.reader, &v1alpha1.CertificateList{}, func(c *v1alpha1.Certificate) bool {
		return c.Spec.AuthorityRef == ca.Name && c.Status.Phase != v1alpha1.CertificateSigned
	}, client.InNamespace(ca.Namespace))
}

// serverSources are what Servers are made of, and what they have become.
func (w watches) serverSources(c, all cluster.Cluster) []source.Source {
	list := []source.Source{
		object.Mapped(c, &v1alpha1.Config{}, func(ctx context.Context, config *v1alpha1.Config) []reconcile.Request {
			return w.servers(ctx, config.Namespace, func(s *v1alpha1.Server) bool { return s.Spec.ConfigRef == config.Name })
		}),
		object.Mapped(c, &corev1.ConfigMap{}, func(ctx context.Context, files *corev1.ConfigMap) []reconcile.Request {
			config := files.Labels[configLabel]
			return w.servers(ctx, files.Namespace, func(s *v1alpha1.Server) bool { return s.Spec.ConfigRef == config })
		}),
		object.Mapped(c, &v1alpha1.Certificate{}, func(ctx context.Context, certificate *v1alpha1.Certificate) []reconcile.Request {
			return w.servers(ctx, certificate.Namespace, func(s *v1alpha1.Server) bool { return s.Spec.CertificateRef == certificate.Name })
		}),
		object.Mapped(c, &v1alpha1.NodeClassifier{}, w.serversOfClassifier, predicate.TypedGenerationChangedPredicate[*v1alpha1.NodeClassifier]{}),
		object.Mapped(c, &v1alpha1.CertificateAuthority{}, w.serversOf),
		object.Mapped(all, secretMetadata(), w.serversOfSecret),
		// One that goes may leave the CA to another.
		object.Mapped(c, &v1alpha1.Server{}, func(ctx context.Context, gone *v1alpha1.Server) []reconcile.Request {
			return w.servers(ctx, gone.Namespace, func(s *v1alpha1.Server) bool { return gone.Spec.CA && s.Spec.CA && s.Name != gone.Name })
		}, predicate.TypedGenerationChangedPredicate[*v1alpha1.Server]{}),
		object.Mapped(c, &corev1.Pod{}, func(_ context.Context, pod *corev1.Pod) []reconcile.Request {
			return object.Request(pod.Namespace, pod.Labels[serverLabel])
		}),
	}
	for _, kind := range serverKinds() {
		list = append(list, object.Owned(c, kind, &v1alpha1.Server{}))
	}
	return list
}

// databaseSources are what Databases are made of, and what they have become.
func (w watches) databaseSources(c, all cluster.Cluster) []source.Source {
	ofNamespace := func(ctx context.Context, o client.Object) []reconcile.Request {
		return object.Requests(ctx, w.reader, &v1alpha1.DatabaseList{}, func(*v1alpha1.Database) bool { return true }, client.InNamespace(o.GetNamespace()))
	}
	list := []source.Source{
		// Whose clients they are is seen when they are listed, before a change and after.
		object.Mapped(c, &v1alpha1.Config{}, func(ctx context.Context, o *v1alpha1.Config) []reconcile.Request { return ofNamespace(ctx, o) }, predicate.TypedGenerationChangedPredicate[*v1alpha1.Config]{}),
		object.Mapped(c, &v1alpha1.Server{}, func(ctx context.Context, o *v1alpha1.Server) []reconcile.Request { return ofNamespace(ctx, o) }, predicate.TypedGenerationChangedPredicate[*v1alpha1.Server]{}),
		object.Mapped(c, &v1alpha1.Certificate{}, func(ctx context.Context, o *v1alpha1.Certificate) []reconcile.Request { return ofNamespace(ctx, o) }),
		object.Mapped(c, &v1alpha1.CertificateAuthority{}, func(ctx context.Context, ca *v1alpha1.CertificateAuthority) []reconcile.Request {
			return ofNamespace(ctx, ca) // whose status says which Certificate is its server's
		}),
		object.Mapped(all, secretMetadata(), w.databasesOfSecret),
		object.Mapped(c, &corev1.Pod{}, func(_ context.Context, pod *corev1.Pod) []reconcile.Request {
			return object.Request(pod.Namespace, pod.Labels[databaseLabel])
		}),
	}
	for _, kind := range databaseKinds() {
		list = append(list, object.Owned(c, kind, &v1alpha1.Database{}))
	}
	return list
}

// databasesOfSecret are those that name a Secret, and those whose pair or CA it is.
func (w watches) databasesOfSecret(ctx context.Context, secret *metav1.PartialObjectMetadata) []reconcile.Request {
	ofCA := secret.Labels[caLabel] != ""
	return object.Requests(ctx, w.reader, &v1alpha1.DatabaseList{}, func(d *v1alpha1.Database) bool {
		p := d.Spec.Postgres
		return ofCA || p.CredentialsSecretRef == secret.Name || p.CASecretRef != nil && p.CASecretRef.Name == secret.Name || tlsSecret(d.Spec.CertificateRef) == secret.Name
	}, client.InNamespace(secret.Namespace))
}

// authorityOfDatabase is the CA of its Certificate, which is for its name, too.
func (w watches) authorityOfDatabase(ctx context.Context, d *v1alpha1.Database) []reconcile.Request {
	var certificate v1alpha1.Certificate
	if err := w.reader.Get(ctx, client.ObjectKey{Namespace: d.Namespace, Name: d.Spec.CertificateRef}, &certificate); err != nil {
		return nil // it leads there by itself, once it is there
	}
	return object.Request(d.Namespace, certificate.Spec.AuthorityRef)
}

func (w watches) servers(ctx context.Context, namespace string, concerned func(*v1alpha1.Server) bool) []reconcile.Request {
	return object.Requests(ctx, w.reader, &v1alpha1.ServerList{}, concerned, client.InNamespace(namespace))
}

// serversOf are those of a CA.
func (w watches) serversOf(ctx context.Context, ca *v1alpha1.CertificateAuthority) []reconcile.Request {
	return w.serversOfConfigs(ctx, ca.Namespace, func(c v1alpha1.Config) bool { return c.Spec.AuthorityRef == ca.Name })
}

// serversOfClassifier are those that keep what it answers.
func (w watches) serversOfClassifier(ctx context.Context, classifier *v1alpha1.NodeClassifier) []reconcile.Request {
	return w.serversOfConfigs(ctx, classifier.Namespace, func(c v1alpha1.Config) bool { return c.Spec.NodeClassifierRef == classifier.Name })
}

func (w watches) serversOfConfigs(ctx context.Context, namespace string, concerned func(v1alpha1.Config) bool) []reconcile.Request {
	configs, err := configsIn(ctx, w.reader, namespace)
	if err != nil {
		log.FromContext(ctx).Error(err, "listing those whom a change concerns")
		return nil
	}
	return w.servers(ctx, namespace, func(s *v1alpha1.Server) bool {
		return slices.ContainsFunc(configs, func(c v1alpha1.Config) bool { return c.Name == s.Spec.ConfigRef && concerned(c) })
	})
}

// serversOfSecret are those whose pair it is, and those of its CA.
func (w watches) serversOfSecret(ctx context.Context, secret *metav1.PartialObjectMetadata) []reconcile.Request {
	requests := w.servers(ctx, secret.Namespace, func(s *v1alpha1.Server) bool { return tlsSecret(s.Spec.CertificateRef) == secret.Name })
	var authorities v1alpha1.CertificateAuthorityList
	if err := w.reader.List(ctx, &authorities, client.InNamespace(secret.Namespace), client.UnsafeDisableDeepCopy); err != nil {
		log.FromContext(ctx).Error(err, "listing those whom a Secret concerns")
		return requests
	}
	for i := range authorities.Items {
		if ca := &authorities.Items[i]; caSecretName(ca) == secret.Name || crlSecret(ca.Name) == secret.Name {
			requests = append(requests, w.serversOf(ctx, ca)...)
		}
	}
	return requests
}

// authorityOfServer is the CA of a Server that is its server.
func (w watches) authorityOfServer(ctx context.Context, server *v1alpha1.Server) []reconcile.Request {
	var config v1alpha1.Config
	if err := w.reader.Get(ctx, client.ObjectKey{Namespace: server.Namespace, Name: server.Spec.ConfigRef}, &config); err != nil {
		return nil // it leads here, too, once it is there
	}
	return object.Request(config.Namespace, config.Spec.AuthorityRef)
}

// poolsBeside are those of the namespace.
func (w watches) poolsBeside(ctx context.Context, pool *v1alpha1.Pool) []reconcile.Request {
	return object.Requests(ctx, w.reader, &v1alpha1.PoolList{}, func(p *v1alpha1.Pool) bool { return p.Name != pool.Name && routed(p) }, client.InNamespace(pool.Namespace))
}

// certificatesOfPool are those that may have its host name.
func (w watches) certificatesOfPool(ctx context.Context, pool *v1alpha1.Pool) (requests []reconcile.Request) {
	var servers v1alpha1.ServerList
	if err := w.reader.List(ctx, &servers, client.InNamespace(pool.Namespace), client.UnsafeDisableDeepCopy); err != nil {
		log.FromContext(ctx).Error(err, "listing those whom a Pool concerns")
		return nil
	}
	for i := range servers.Items {
		if len(servers.Items[i].Spec.PoolRefs) > 0 { // of a Pool that goes, another gets the host name
			requests = append(requests, object.Request(pool.Namespace, servers.Items[i].Spec.CertificateRef)...)
		}
	}
	return requests
}

// authoritiesOfPool are those of the namespace: the host name is reserved at one of them.
func (w watches) authoritiesOfPool(ctx context.Context, pool *v1alpha1.Pool) []reconcile.Request {
	return object.Requests[*v1alpha1.CertificateAuthority](ctx, w.reader, &v1alpha1.CertificateAuthorityList{}, nil, client.InNamespace(pool.Namespace))
}

// configsOf are those that name a CA.
func (w watches) configsOf(ctx context.Context, ca *v1alpha1.CertificateAuthority) []reconcile.Request {
	return object.Requests(ctx, w.reader, &v1alpha1.ConfigList{}, func(c *v1alpha1.Config) bool { return c.Spec.AuthorityRef == ca.Name }, client.InNamespace(ca.Namespace))
}

// authoritiesOfSecret are those that are known or signed for by a Secret.
func (w watches) authoritiesOfSecret(ctx context.Context, secret *metav1.PartialObjectMetadata) []reconcile.Request {
	return object.Requests(ctx, w.reader, &v1alpha1.CertificateAuthorityList{}, func(ca *v1alpha1.CertificateAuthority) bool {
		return caSecretName(ca) == secret.Name || ca.Spec.External != nil && ca.Spec.External.TLSSecretRef == secret.Name
	}, client.InNamespace(secret.Namespace))
}

// authoritiesOfIntermediateSecret are those that are to have their keys from a Secret.
func (w watches) authoritiesOfIntermediateSecret(ctx context.Context, secret *metav1.PartialObjectMetadata) []reconcile.Request {
	return object.Requests(ctx, w.reader, &v1alpha1.CertificateAuthorityList{}, func(ca *v1alpha1.CertificateAuthority) bool {
		return ca.Spec.IntermediateCA.Enabled && ca.Spec.IntermediateCA.SecretName == secret.Name
	}, client.InNamespace(secret.Namespace))
}

// authorityOfAutosignSecret is the CA whose hook reads a Secret, whoever has made it.
func authorityOfAutosignSecret(_ context.Context, secret *metav1.PartialObjectMetadata) []reconcile.Request {
	ca, ok := strings.CutSuffix(secret.Name, autosignSecret(""))
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

// classifiersOfSecret are those that read a Secret.
func (w watches) classifiersOfSecret(ctx context.Context, secret *metav1.PartialObjectMetadata) []reconcile.Request {
	return object.Requests(ctx, w.reader, &v1alpha1.NodeClassifierList{}, func(c *v1alpha1.NodeClassifier) bool {
		return slices.Contains(secretsOf(c.Spec.Auth, c.Spec.TLS), secret.Name)
	}, client.InNamespace(secret.Namespace))
}

// configsOfClassifier are those that name a NodeClassifier.
func (w watches) configsOfClassifier(ctx context.Context, classifier *v1alpha1.NodeClassifier) []reconcile.Request {
	return object.Requests(ctx, w.reader, &v1alpha1.ConfigList{}, func(c *v1alpha1.Config) bool { return c.Spec.NodeClassifierRef == classifier.Name }, client.InNamespace(classifier.Namespace))
}

// configsOfClassifierSecret are those of the NodeClassifiers that read a Secret.
func (w watches) configsOfClassifierSecret(ctx context.Context, secret *metav1.PartialObjectMetadata) (requests []reconcile.Request) {
	for _, classifier := range w.classifiersOfSecret(ctx, secret) {
		named := &v1alpha1.NodeClassifier{ObjectMeta: metav1.ObjectMeta{Namespace: classifier.Namespace, Name: classifier.Name}}
		requests = append(requests, w.configsOfClassifier(ctx, named)...)
	}
	return requests
}

func configOfProcessor(_ context.Context, p *v1alpha1.ReportProcessor) []reconcile.Request {
	return object.Request(p.Namespace, p.Spec.ConfigRef)
}

// configOfReportsSecret is the Config whose servers read a Secret, whoever has made it.
func configOfReportsSecret(_ context.Context, secret *metav1.PartialObjectMetadata) []reconcile.Request {
	config, ok := strings.CutSuffix(secret.Name, reportsSecret(""))
	if !ok {
		return nil
	}
	return object.Request(secret.Namespace, config)
}

// configsOfProcessorSecret are those of the ReportProcessors that read a Secret.
func (w watches) configsOfProcessorSecret(ctx context.Context, secret *metav1.PartialObjectMetadata) []reconcile.Request {
	return w.configsOfProcessors(ctx, secret, func(p *v1alpha1.ReportProcessor) bool {
		return slices.Contains(secretsOf(p.Spec.Auth, p.Spec.TLS), secret.Name) || slices.ContainsFunc(p.Spec.Headers, func(h v1alpha1.HTTPHeader) bool {
			return h.ValueFrom != nil && h.ValueFrom.SecretKeyRef != nil && h.ValueFrom.SecretKeyRef.Name == secret.Name
		})
	})
}

// configsOfProcessorConfigMap are those of the ReportProcessors that read a ConfigMap.
func (w watches) configsOfProcessorConfigMap(ctx context.Context, configMap *metav1.PartialObjectMetadata) []reconcile.Request {
	return w.configsOfProcessors(ctx, configMap, func(p *v1alpha1.ReportProcessor) bool {
		return slices.ContainsFunc(p.Spec.Headers, func(h v1alpha1.HTTPHeader) bool {
			return h.ValueFrom != nil && h.ValueFrom.ConfigMapKeyRef != nil && h.ValueFrom.ConfigMapKeyRef.Name == configMap.Name
		})
	})
}

func (w watches) configsOfProcessors(ctx context.Context, named *metav1.PartialObjectMetadata, reads func(*v1alpha1.ReportProcessor) bool) (requests []reconcile.Request) {
	var list v1alpha1.ReportProcessorList
	if err := w.reader.List(ctx, &list, client.InNamespace(named.Namespace), client.UnsafeDisableDeepCopy); err != nil {
		log.FromContext(ctx).Error(err, "listing ReportProcessors")
		return nil
	}
	for i := range list.Items {
		if reads(&list.Items[i]) {
			requests = append(requests, configOfProcessor(ctx, &list.Items[i])...)
		}
	}
	return requests
}
