package openvox

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	v1alpha1 "github.com/lintel-policy/lintel/api/openvox/v1alpha1"
	"github.com/lintel-policy/lintel/controllers/attempt"
	"github.com/lintel-policy/lintel/controllers/object"
	"github.com/lintel-policy/lintel/controllers/system"
	builtin "github.com/lintel-policy/lintel/policies/rules"
)

// workers is how many objects are looked at at a time; CAs are asked elsewhere.
const workers = 8

// newCluster has its own cache, which holds of what others have, too, ours only.
func newCluster(config *rest.Config, namespaces []string) (cluster.Cluster, error) {
	byObject := map[client.Object]cache.ByObject{}
	for _, kind := range append(internalKinds(), &corev1.ConfigMap{}, &corev1.Secret{}) {
		byObject[kind] = cache.ByObject{Label: labels.SelectorFromSet(labels.Set{managedByLabel: managedBy})}
	}
	return newCachedCluster(config, namespaces, byObject)
}

// newSecretsCluster holds the metadata of all Secrets. A cache has one rule for a kind,
// whether it holds objects or their metadata.
func newSecretsCluster(config *rest.Config, namespaces []string) (cluster.Cluster, error) {
	return newCachedCluster(config, namespaces, map[client.Object]cache.ByObject{secretMetadata(): {Transform: object.IdentityOnly}})
}

func newCachedCluster(config *rest.Config, namespaces []string, byObject map[client.Object]cache.ByObject) (cluster.Cluster, error) {
	return object.NewCluster(config, v1alpha1.AddToScheme, func(o *cluster.Options) {
		o.Cache.DefaultNamespaces, o.Cache.ByObject = object.Only(namespaces), byObject
	})
}

func secretMetadata() *metav1.PartialObjectMetadata { return object.MetadataOf(object.SecretKind) }

// internalKinds are the kinds of which CAs in the cluster consist, beside Secrets.
func internalKinds() []client.Object {
	return []client.Object{
		&corev1.PersistentVolumeClaim{}, &corev1.Service{}, &corev1.ServiceAccount{}, &batchv1.Job{}, &rbacv1.Role{}, &rbacv1.RoleBinding{},
	}
}

// groupFor is the group of setup Pods: OpenShift gives each namespace its own.
func groupFor(mapper meta.RESTMapper) (*int64, error) {
	_, err := mapper.RESTMapping(schema.GroupKind{Group: "security.openshift.io", Kind: "SecurityContextConstraints"})
	if meta.IsNoMatchError(err) {
		return new(int64(setupGroup)), nil
	}
	if err != nil {
		return nil, fmt.Errorf("asking whether this is OpenShift: %w", err)
	}
	return nil, nil
}

// addControllers adds the controllers to a manager. They run on the leader.
func (a *admitter) addControllers(mgr system.Manager) error {
	c, err := newCluster(mgr.GetConfig(), a.namespaces)
	if err != nil {
		return fmt.Errorf("setting up the cache of OpenVox: %w", err)
	}
	allSecrets, err := newSecretsCluster(mgr.GetConfig(), a.namespaces)
	if err != nil {
		return fmt.Errorf("setting up the cache of Secrets: %w", err)
	}
	recorder := c.GetEventRecorder("lintel-openvox")
	s := secrets{client: c.GetClient(), live: c.GetAPIReader()}
	crls := newCRLMetrics(time.Now)
	if err := mgr.Metrics.Register(crls); err != nil {
		return fmt.Errorf("registering metrics: %w", err)
	}
	group, err := groupFor(c.GetRESTMapper())
	if err != nil {
		return err
	}
	applier := func(manager string) *object.Applier {
		return &object.Applier{Client: c.GetClient(), Live: c.GetAPIReader(), Manager: manager}
	}
	policies := &PolicyReconciler{client: c.GetClient(), secrets: s, events: recorder}
	authorities := newAuthorityReconciler(c.GetClient(), s, recorder, crls, time.Now)
	issuing, signing := attempt.NewRunner[outcome](time.Now), attempt.NewRunner[outcome](time.Now)
	certificates := &CertificateReconciler{client: c.GetClient(), secrets: s, events: recorder, attempts: issuing, keys: newKeyMaker(a.keyBits), admit: a.admitCertificate, revoked: authorities.revoked, now: time.Now}
	initializing := &InitializeReconciler{client: c.GetClient(), secrets: s, applier: applier(initializeManager), events: recorder, admit: a.admitCertificate, fsGroup: group, externalOnly: a.externalOnly, now: time.Now}
	configs := &ConfigReconciler{client: c.GetClient(), applier: applier(configsManager), events: recorder, admit: a.admitConfig}
	var approves builtin.Admitter
	if a.approve {
		approves = a.admitRequest
	}
	signs := signer{client: c.GetClient(), secrets: s, admit: a.admitRequest, revoked: authorities.revoked, names: &certnames{}}
	requests := &RequestReconciler{client: c.GetClient(), signer: signs, events: recorder, attempts: signing, approves: approves, namespaces: a.namespaces}
	later := &certManager{manager: mgr, namespaces: a.namespaces, cluster: c, mapper: c.GetRESTMapper(), signer: signs, approves: approves}
	for _, runnable := range []manager.Runnable{c, allSecrets, issuing, signing, authorities.refreshes, later} {
		if err := mgr.Add(runnable); err != nil {
			return err
		}
	}
	w := watches{c.GetClient()}
	newGeneration := predicate.TypedGenerationChangedPredicate[*v1alpha1.CertificateAuthority]{}
	setup := []source.Source{object.Self(c, &v1alpha1.CertificateAuthority{})}
	if !a.externalOnly { // else the CAs' status says that nothing is set up, and no more
		setup = append(setup,
			object.Mapped(allSecrets, secretMetadata(), w.authoritiesOfIntermediateSecret),
			object.Mapped(c, &v1alpha1.Config{}, func(_ context.Context, c *v1alpha1.Config) []reconcile.Request {
				return object.Request(c.Namespace, c.Spec.AuthorityRef)
			}),
			object.Mapped(c, &v1alpha1.Certificate{}, authorityOfCertificate),
			object.Mapped(c, client.Object(&corev1.Secret{}), labelled))
		for _, kind := range internalKinds() {
			setup = append(setup, object.Mapped(c, kind, labelled))
		}
	}
	return errors.Join(
		object.Control(mgr, policiesManager, 1, policies,
			object.Self(c, &v1alpha1.CertificateAuthority{}, newGeneration),
			object.Owned(c, &corev1.Secret{}, &v1alpha1.CertificateAuthority{}),
			object.Mapped(c, &v1alpha1.SigningPolicy{}, func(_ context.Context, p *v1alpha1.SigningPolicy) []reconcile.Request {
				return object.Request(p.Namespace, p.Spec.CertificateAuthorityRef)
			}),
			object.Mapped(c, &v1alpha1.Certificate{}, authorityOfCertificate),
			object.Mapped(allSecrets, secretMetadata(), w.authoritiesOfPolicySecret),
			object.Mapped(allSecrets, secretMetadata(), authorityOfAutosignSecret)),
		object.Control(mgr, authoritiesManager, workers, authorities,
			object.Self(c, &v1alpha1.CertificateAuthority{}),
			object.Mapped(allSecrets, secretMetadata(), func(ctx context.Context, secret *metav1.PartialObjectMetadata) []reconcile.Request {
				requests := w.authoritiesOfSecret(ctx, secret)
				for _, request := range requests {
					authorities.hurry(request.NamespacedName)
				}
				return requests
			}),
			authorities.refreshes.Source()),
		object.Control(mgr, initializeManager, 1, initializing, setup...),
		object.Control(mgr, certificatesManager, workers, certificates,
			object.Self(c, &v1alpha1.Certificate{}),
			object.Owned(c, &corev1.Secret{}, &v1alpha1.Certificate{}),
			issuing.Source(),
			object.Mapped(c, &v1alpha1.CertificateAuthority{}, w.certificatesOf)),
		object.Control(mgr, configsManager, 1, configs,
			object.Self(c, &v1alpha1.Config{}, predicate.TypedGenerationChangedPredicate[*v1alpha1.Config]{}),
			object.Owned(c, &corev1.ConfigMap{}, &v1alpha1.Config{}),
			object.Owned(c, &corev1.ServiceAccount{}, &v1alpha1.Config{}),
			// Some files say what the CA does, and a Config may be there before it.
			object.Mapped(c, &v1alpha1.CertificateAuthority{}, w.configsOf, newGeneration)),
		object.Control(mgr, requestsManager, workers, requests,
			object.Self(c, &certificatesv1.CertificateSigningRequest{}),
			signing.Source()),
	)
}

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
