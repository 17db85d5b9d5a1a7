package openvox

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	v1alpha1 "github.com/lintel-policy/lintel/api/openvox/v1alpha1"
	"github.com/lintel-policy/lintel/controllers/object"
	"github.com/lintel-policy/lintel/controllers/openvox/authority"
	"github.com/lintel-policy/lintel/controllers/openvox/issuing"
	"github.com/lintel-policy/lintel/controllers/openvox/layout"
	"github.com/lintel-policy/lintel/controllers/openvox/serving"
	"github.com/lintel-policy/lintel/controllers/system"
)

// setupGroup can write to volumes that know nothing of the image's user.
const setupGroup = 1001

// newCluster has its own cache, which holds of what others have, too, ours only.
func newCluster(config *rest.Config, namespaces []string) (cluster.Cluster, error) {
	byObject := map[client.Object]cache.ByObject{}
	for _, kind := range slices.Concat(authority.Kinds(), serving.Kinds()) {
		rule := cache.ByObject{Label: labels.SelectorFromSet(labels.Set{layout.ManagedByLabel: layout.ManagedBy}), Transform: object.Bounded(v1alpha1.GroupName)}
		switch kind.(type) {
		case *corev1.Pod, *discoveryv1.EndpointSlice:
			rule.Transform = nil // Kubernetes controls them
		}
		byObject[kind] = rule
	}
	return newCachedCluster(config, namespaces, byObject)
}

// newMetadataCluster holds the metadata of all Secrets and ConfigMaps. A cache has one rule
// for a kind, whether it holds objects or their metadata.
func newMetadataCluster(config *rest.Config, namespaces []string) (cluster.Cluster, error) {
	identities := cache.ByObject{Transform: object.IdentityOnly}
	return newCachedCluster(config, namespaces, map[client.Object]cache.ByObject{
		object.MetadataOf(object.SecretKind):    identities,
		object.MetadataOf(object.ConfigMapKind): identities,
	})
}

func newCachedCluster(config *rest.Config, namespaces []string, byObject map[client.Object]cache.ByObject) (cluster.Cluster, error) {
	return object.NewCluster(config, v1alpha1.AddToScheme, func(o *cluster.Options) {
		o.Cache.DefaultNamespaces, o.Cache.ByObject = object.Only(namespaces), byObject
	})
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
	all, err := newMetadataCluster(mgr.GetConfig(), a.namespaces)
	if err != nil {
		return fmt.Errorf("setting up the cache of Secrets and ConfigMaps: %w", err)
	}
	group, err := groupFor(c.GetRESTMapper())
	if err != nil {
		return err
	}
	for _, runnable := range []manager.Runnable{c, all} {
		if err := mgr.Add(runnable); err != nil {
			return err
		}
	}
	if err := mgr.Metrics.Register(newObjectMetrics(c.GetClient(), mgr.Elected())); err != nil {
		return fmt.Errorf("registering metrics: %w", err)
	}
	outdated := func(ctx context.Context, ca *v1alpha1.CertificateAuthority, certificate *v1alpha1.Certificate, stored *x509.Certificate) (string, error) {
		return layout.Outdated(ctx, c.GetClient(), ca, certificate, stored)
	}
	revoker, err := authority.AddControllers(mgr, authority.Options{
		Cluster: c, Metadata: all, AdmitCertificate: a.admitCertificate, ExternalOnly: a.externalOnly, FSGroup: group,
	})
	return errors.Join(err,
		issuing.AddControllers(mgr, issuing.Options{
			Cluster: c, AdmitCertificate: a.admitCertificate, AdmitRequest: a.admitRequest, Approve: a.approve,
			KeyBits: a.keyBits, Namespaces: a.namespaces, Revoker: revoker,
		}),
		serving.SetUp(mgr, serving.Options{
			Cluster: c, Metadata: all, AdmitConfig: a.admitConfig, AdmitServer: a.admitServer, AdmitPool: a.admitPool, AdmitDatabase: a.admitDatabase,
			AdmitClassifier: a.admitClassifier, AdmitProcessor: a.admitProcessor, Outdated: outdated, ExternalOnly: a.externalOnly, FSGroup: group,
		}),
	)
}
