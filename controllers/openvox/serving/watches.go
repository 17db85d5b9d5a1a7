package serving

import (
	"context"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	v1alpha1 "github.com/lintel-policy/lintel/api/openvox/v1alpha1"
	"github.com/lintel-policy/lintel/controllers/object"
	"github.com/lintel-policy/lintel/controllers/openvox/layout"
	"github.com/lintel-policy/lintel/controllers/openvox/pausing"
	rules "github.com/lintel-policy/lintel/policies/rules/openvox"
)

// watches maps changed objects to the affected ones, by the cache.
type watches struct{ reader client.Reader }

// serverSources returns the watches on the objects that Servers depend on and consist of. If in-
// cluster servers are disabled, only their status is reported.
func (w watches) serverSources(c, all cluster.Cluster, externalOnly bool) []source.Source {
	list := []source.Source{object.Self(c, &v1alpha1.Server{}, pausing.Changed[*v1alpha1.Server]())}
	if externalOnly {
		return list
	}
	list = append(list,
		object.Mapped(c, &v1alpha1.Config{}, func(ctx context.Context, config *v1alpha1.Config) []reconcile.Request {
			return w.servers(ctx, config.Namespace, func(s *v1alpha1.Server) bool { return s.Spec.ConfigRef == config.Name })
		}),
		object.Mapped(c, &corev1.ConfigMap{}, func(ctx context.Context, files *corev1.ConfigMap) []reconcile.Request {
			config := files.Labels[layout.ConfigLabel]
			return w.servers(ctx, files.Namespace, func(s *v1alpha1.Server) bool { return s.Spec.ConfigRef == config })
		}),
		object.Mapped(c, &v1alpha1.Certificate{}, func(ctx context.Context, certificate *v1alpha1.Certificate) []reconcile.Request {
			return w.servers(ctx, certificate.Namespace, func(s *v1alpha1.Server) bool { return s.Spec.CertificateRef == certificate.Name })
		}),
		object.Mapped(c, &v1alpha1.NodeClassifier{}, w.serversOfClassifier, predicate.TypedGenerationChangedPredicate[*v1alpha1.NodeClassifier]{}),
		object.Mapped(c, &v1alpha1.CertificateAuthority{}, w.serversOf),
		object.Mapped(c, &v1alpha1.CertificateAuthority{}, w.serversWithVolume, object.Updates(func(_, _ *v1alpha1.CertificateAuthority) bool { return false })), // whether it is there
		object.Mapped(c, &v1alpha1.Pool{}, func(ctx context.Context, pool *v1alpha1.Pool) []reconcile.Request {
			return w.servers(ctx, pool.Namespace, func(s *v1alpha1.Server) bool { return slices.Contains(s.Spec.PoolRefs, pool.Name) })
		}, object.Updates(func(_, _ *v1alpha1.Pool) bool { return false })), // whether it is there
		// Secrets of other owners, and those with certificates, may reach this cache later.
		object.Mapped(all, client.Object(object.MetadataOf(object.SecretKind)), w.serversOfSecret),
		object.Mapped(c, client.Object(&corev1.Secret{}), w.serversOfSecret),
		// A deleted Server may leave the CA to another one.
		object.Mapped(c, &v1alpha1.Server{}, func(ctx context.Context, gone *v1alpha1.Server) []reconcile.Request {
			return w.servers(ctx, gone.Namespace, func(s *v1alpha1.Server) bool { return gone.Spec.CA && s.Spec.CA && s.Name != gone.Name })
		}, predicate.TypedGenerationChangedPredicate[*v1alpha1.Server]{}),
		object.Mapped(c, &corev1.Pod{}, func(_ context.Context, pod *corev1.Pod) []reconcile.Request {
			return object.Request(pod.Namespace, pod.Labels[serverLabel])
		}))
	for _, kind := range serverKinds() {
		list = append(list, object.Owned(c, kind, &v1alpha1.Server{}))
	}
	return list
}

// databaseSources returns the watches on the objects that Databases depend on and consist of. If
// in-cluster servers are disabled, only their status is reported.
func (w watches) databaseSources(c, all cluster.Cluster, externalOnly bool) []source.Source {
	list := []source.Source{object.Self(c, &v1alpha1.Database{}, pausing.Changed[*v1alpha1.Database]())}
	if externalOnly {
		return list
	}
	ofNamespace := func(ctx context.Context, o client.Object) []reconcile.Request {
		return object.RequestsFor(ctx, w.reader, &v1alpha1.DatabaseList{}, func(*v1alpha1.Database) bool { return true }, client.InNamespace(o.GetNamespace()))
	}
	list = append(list,
		// Whose clients they are is seen when they are listed, before a change and after.
		object.Mapped(c, &v1alpha1.Config{}, func(ctx context.Context, o *v1alpha1.Config) []reconcile.Request { return ofNamespace(ctx, o) }, predicate.TypedGenerationChangedPredicate[*v1alpha1.Config]{}),
		object.Mapped(c, &v1alpha1.Server{}, func(ctx context.Context, o *v1alpha1.Server) []reconcile.Request { return ofNamespace(ctx, o) }, predicate.TypedGenerationChangedPredicate[*v1alpha1.Server]{}),
		object.Mapped(c, &v1alpha1.Certificate{}, func(ctx context.Context, o *v1alpha1.Certificate) []reconcile.Request { return ofNamespace(ctx, o) }),
		object.Mapped(c, &v1alpha1.CertificateAuthority{}, func(ctx context.Context, ca *v1alpha1.CertificateAuthority) []reconcile.Request {
			return ofNamespace(ctx, ca) // its status names the Certificate of its server
		}),
		object.Mapped(all, client.Object(object.MetadataOf(object.SecretKind)), w.databasesOfSecret),
		object.Mapped(c, client.Object(&corev1.Secret{}), w.databasesOfSecret),
		object.Mapped(c, &corev1.Pod{}, func(_ context.Context, pod *corev1.Pod) []reconcile.Request {
			return object.Request(pod.Namespace, pod.Labels[databaseLabel])
		}))
	for _, kind := range databaseKinds() {
		list = append(list, object.Owned(c, kind, &v1alpha1.Database{}))
	}
	return list
}

// poolSources returns the watches on the objects that Pools depend on, and on their Servers. If
// in-cluster servers are disabled, only their status is reported.
func (w watches) poolSources(c cluster.Cluster, externalOnly bool) []source.Source {
	list := []source.Source{object.Self(c, &v1alpha1.Pool{}, pausing.Changed[*v1alpha1.Pool]())}
	if externalOnly {
		return list
	}
	return append(list,
		object.Owned(c, &corev1.Service{}, &v1alpha1.Pool{}),
		object.Mapped(c, &discoveryv1.EndpointSlice{}, func(_ context.Context, s *discoveryv1.EndpointSlice) []reconcile.Request {
			return object.Request(s.Namespace, s.Labels[discoveryv1.LabelServiceName])
		}),
		// The addresses that a Pool may have are listed, or no longer.
		object.Mapped(c, &corev1.Namespace{}, w.poolsIn, object.Updates(func(before, after *corev1.Namespace) bool {
			return before.Annotations[v1alpha1.AllowedExternalIPsAnnotation] != after.Annotations[v1alpha1.AllowedExternalIPsAnnotation]
		})),
		// A deleted Pool may leave its host name to another one.
		object.Mapped(c, &v1alpha1.Pool{}, w.poolsBeside, predicate.TypedGenerationChangedPredicate[*v1alpha1.Pool]{}))
}

// poolsIn are the Pools of a Namespace.
func (w watches) poolsIn(ctx context.Context, namespace *corev1.Namespace) []reconcile.Request {
	return object.RequestsFor(ctx, w.reader, &v1alpha1.PoolList{}, func(*v1alpha1.Pool) bool { return true }, client.InNamespace(namespace.Name))
}

// databasesOfSecret maps a Secret to the Databases that refer to it, or whose certificate or CA
// it contains.
func (w watches) databasesOfSecret(ctx context.Context, secret client.Object) []reconcile.Request {
	ofCA := secret.GetLabels()[layout.CALabel] != ""
	return object.RequestsFor(ctx, w.reader, &v1alpha1.DatabaseList{}, func(d *v1alpha1.Database) bool {
		p := d.Spec.Postgres
		return ofCA || p.CredentialsSecretRef == secret.GetName() || p.CASecretRef != nil && p.CASecretRef.Name == secret.GetName() || layout.TLSSecret(d.Spec.CertificateRef) == secret.GetName()
	}, client.InNamespace(secret.GetNamespace()))
}

func (w watches) servers(ctx context.Context, namespace string, concerned func(*v1alpha1.Server) bool) []reconcile.Request {
	return object.RequestsFor(ctx, w.reader, &v1alpha1.ServerList{}, concerned, client.InNamespace(namespace))
}

// serversOf are those of a CA.
func (w watches) serversOf(ctx context.Context, ca *v1alpha1.CertificateAuthority) []reconcile.Request {
	return w.serversOfConfigs(ctx, ca.Namespace, func(c v1alpha1.Config) bool { return c.Spec.AuthorityRef == ca.Name })
}

// serversWithVolume returns the Servers that name the claim of a CA, which may not exist yet.
func (w watches) serversWithVolume(ctx context.Context, ca *v1alpha1.CertificateAuthority) []reconcile.Request {
	claim := layout.CAClaim(ca.Name)
	names := func(code v1alpha1.PuppetCode) bool {
		return slices.ContainsFunc(code.List, func(s v1alpha1.CodeSource) bool { return s.ClaimName == claim })
	}
	own := w.servers(ctx, ca.Namespace, func(s *v1alpha1.Server) bool {
		return names(s.Spec.Code) || slices.Contains(rules.ClaimsOf(&s.Spec), claim)
	})
	return append(own, w.serversOfConfigs(ctx, ca.Namespace, func(c v1alpha1.Config) bool { return names(c.Spec.Code) })...)
}

// serversOfClassifier maps a NodeClassifier to the Servers that cache its answers.
func (w watches) serversOfClassifier(ctx context.Context, classifier *v1alpha1.NodeClassifier) []reconcile.Request {
	return w.serversOfConfigs(ctx, classifier.Namespace, func(c v1alpha1.Config) bool { return c.Spec.NodeClassifierRef == classifier.Name })
}

func (w watches) serversOfConfigs(ctx context.Context, namespace string, concerned func(v1alpha1.Config) bool) []reconcile.Request {
	configs, err := layout.ConfigsIn(ctx, w.reader, namespace)
	if err != nil {
		log.FromContext(ctx).Error(err, "listing those whom a change concerns")
		return nil
	}
	return w.servers(ctx, namespace, func(s *v1alpha1.Server) bool {
		return slices.ContainsFunc(configs, func(c v1alpha1.Config) bool { return c.Name == s.Spec.ConfigRef && concerned(c) })
	})
}

// serversOfSecret maps a Secret to the Servers whose certificate it contains, and those of its
// CA.
func (w watches) serversOfSecret(ctx context.Context, secret client.Object) []reconcile.Request {
	requests := w.servers(ctx, secret.GetNamespace(), func(s *v1alpha1.Server) bool {
		return layout.TLSSecret(s.Spec.CertificateRef) == secret.GetName() || slices.Contains(rules.SecretsOf(&s.Spec), secret.GetName())
	})
	var authorities v1alpha1.CertificateAuthorityList
	if err := w.reader.List(ctx, &authorities, client.InNamespace(secret.GetNamespace()), client.UnsafeDisableDeepCopy); err != nil {
		log.FromContext(ctx).Error(err, "listing those whom a Secret concerns")
		return requests
	}
	for i := range authorities.Items {
		if ca := &authorities.Items[i]; slices.Contains([]string{layout.CASecret(ca), layout.CRLSecret(ca.Name), layout.AutosignSecret(ca.Name)}, secret.GetName()) {
			requests = append(requests, w.serversOf(ctx, ca)...)
		}
	}
	return requests
}

// poolsBeside are those of the namespace.
func (w watches) poolsBeside(ctx context.Context, pool *v1alpha1.Pool) []reconcile.Request {
	return object.RequestsFor(ctx, w.reader, &v1alpha1.PoolList{}, func(p *v1alpha1.Pool) bool { return p.Name != pool.Name && routed(p) }, client.InNamespace(pool.Namespace))
}

// configsOf returns the Configs that name a CA.
func (w watches) configsOf(ctx context.Context, ca *v1alpha1.CertificateAuthority) []reconcile.Request {
	return object.RequestsFor(ctx, w.reader, &v1alpha1.ConfigList{}, func(c *v1alpha1.Config) bool { return c.Spec.AuthorityRef == ca.Name }, client.InNamespace(ca.Namespace))
}

// classifiersOfSecret returns the NodeClassifiers that read a Secret.
func (w watches) classifiersOfSecret(ctx context.Context, secret *metav1.PartialObjectMetadata) []reconcile.Request {
	return object.RequestsFor(ctx, w.reader, &v1alpha1.NodeClassifierList{}, func(c *v1alpha1.NodeClassifier) bool {
		return slices.Contains(secretsOf(c.Spec.Auth, c.Spec.TLS), secret.Name)
	}, client.InNamespace(secret.Namespace))
}

// configsOfClassifier returns the Configs that name a NodeClassifier.
func (w watches) configsOfClassifier(ctx context.Context, classifier *v1alpha1.NodeClassifier) []reconcile.Request {
	return object.RequestsFor(ctx, w.reader, &v1alpha1.ConfigList{}, func(c *v1alpha1.Config) bool { return c.Spec.NodeClassifierRef == classifier.Name }, client.InNamespace(classifier.Namespace))
}

// configsReplacing are those with a program in place of the SigningPolicies of their CA.
func (w watches) configsReplacing(ctx context.Context, policy *v1alpha1.SigningPolicy) []reconcile.Request {
	return object.RequestsFor(ctx, w.reader, &v1alpha1.ConfigList{}, func(c *v1alpha1.Config) bool {
		return c.Spec.Puppet.AutosignCommand != "" && c.Spec.AuthorityRef == policy.Spec.CertificateAuthorityRef
	}, client.InNamespace(policy.Namespace))
}

// configsOfClassifierSecret returns the Configs of the NodeClassifiers that read a Secret.
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

// configOfReportsSecret maps a Secret, regardless of its owner, to the Config whose servers read
// it.
func configOfReportsSecret(_ context.Context, secret *metav1.PartialObjectMetadata) []reconcile.Request {
	config, ok := strings.CutSuffix(secret.Name, reportsSecret(""))
	if !ok {
		return nil
	}
	return object.Request(secret.Namespace, config)
}

// configsOfProcessorSecret returns the Configs of the ReportProcessors that read a Secret.
func (w watches) configsOfProcessorSecret(ctx context.Context, secret *metav1.PartialObjectMetadata) []reconcile.Request {
	return w.configsOfProcessors(ctx, secret, func(p *v1alpha1.ReportProcessor) bool {
		return slices.Contains(secretsOf(p.Spec.Auth, p.Spec.TLS), secret.Name) || slices.ContainsFunc(p.Spec.Headers, func(h v1alpha1.HTTPHeader) bool {
			return h.ValueFrom != nil && h.ValueFrom.SecretKeyRef != nil && h.ValueFrom.SecretKeyRef.Name == secret.Name
		})
	})
}

// configsOfProcessorConfigMap returns the Configs of the ReportProcessors that read a ConfigMap.
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
