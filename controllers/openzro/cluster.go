package openzro

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"

	v1 "github.com/lintel-policy/lintel/api/openzro/v1"
	"github.com/lintel-policy/lintel/controllers/object"
	rules "github.com/lintel-policy/lintel/policies/rules/openzro"
)

// nameIndex finds objects of a kind by the name that they have at the server.
const nameIndex = "openzro.remoteName"

// accountIndex indexes objects of a kind by their account.
const accountIndex = "openzro.account"

// managedByLabel has the value managedBy on every Deployment that these controllers create: the
// cache holds no others.
const (
	managedByLabel = "app.kubernetes.io/managed-by"
	managedBy      = "lintel-openzro"
)

// transformDeployment is a cache's transform.
func transformDeployment(cached any) (any, error) {
	stripped, err := cache.TransformStripManagedFields()(cached)
	if err != nil {
		return nil, err
	}
	return object.Bounded(v1.GroupName)(stripped)
}

// newCluster has its own cache: the kinds of openZro, indexed by nameIndex, of some namespaces or
// of all if none are named, and of Secrets the metadata. A manager without this system
// watches none of it.
func newCluster(ctx context.Context, config *rest.Config, namespaces []string) (cluster.Cluster, error) {
	c, err := object.NewCluster(config, v1.AddToScheme, func(o *cluster.Options) {
		o.Cache.DefaultTransform = cache.TransformStripManagedFields()
		o.Cache.DefaultNamespaces = object.Only(namespaces)
		o.Cache.ByObject = map[client.Object]cache.ByObject{
			&appsv1.Deployment{}:                 {Label: labels.SelectorFromSet(labels.Set{managedByLabel: managedBy}), Transform: transformDeployment},
			object.MetadataOf(object.SecretKind): {Transform: object.IdentityOnly},
		}
	})
	if err != nil {
		return nil, fmt.Errorf("setting up the cache of openZro: %w", err)
	}
	for _, kind := range kinds() {
		if err := c.GetFieldIndexer().IndexField(ctx, kind, nameIndex, remoteName); err != nil {
			return nil, fmt.Errorf("indexing %T: %w", kind, err)
		}
		if err := c.GetFieldIndexer().IndexField(ctx, kind, accountIndex, accountOf); err != nil {
			return nil, fmt.Errorf("indexing %T: %w", kind, err)
		}
		// Or the first review would wait for the cache.
		if _, err := c.GetCache().GetInformer(ctx, kind); err != nil {
			return nil, fmt.Errorf("watching %T: %w", kind, err)
		}
	}
	return c, nil
}

func remoteName(of client.Object) []string {
	if name := rules.RemoteName(of.(v1.Object)); name != "" {
		return []string{name}
	}
	return nil
}

func accountOf(of client.Object) []string {
	if account := of.(v1.Object).CommonStatus().Account; account != "" {
		return []string{account}
	}
	return nil
}

// kinds are empty objects of all kinds.
func kinds() []v1.Object {
	return []v1.Object{
		&v1.OZGroup{}, &v1.OZHTTPRoute{}, &v1.OZNetworkResource{}, &v1.OZPolicy{}, &v1.OZResource{}, &v1.OZRoutingPeer{}, &v1.OZSetupKey{},
		&v1.OZSidecarProfile{},
	}
}

// scheme has the kinds.
var scheme = func() *runtime.Scheme {
	scheme := runtime.NewScheme()
	utilruntime.Must(v1.AddToScheme(scheme))
	return scheme
}()

// emptyOf is an empty object of a kind, or of the list of one.
func emptyOf[T runtime.Object](kind string) (empty T, err error) {
	made, err := scheme.New(v1.SchemeGroupVersion.WithKind(kind))
	if err != nil {
		return empty, fmt.Errorf("there are no rules for %s", kind)
	}
	return made.(T), nil
}
