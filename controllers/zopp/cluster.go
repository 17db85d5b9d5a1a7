package zopp

import (
	"context"
	"fmt"
	"maps"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"

	v1alpha1 "github.com/lintel-policy/lintel/api/zopp/v1alpha1"
	"github.com/lintel-policy/lintel/controllers/object"
)

// targetIndex finds ZoppSecretSyncs by the Secret that they fill.
const targetIndex = "zopp.target"

// newCluster returns a cluster with its own cache: the metadata of Secrets, ZoppSecretSyncs if
// they are enabled, and Namespaces. A manager without this system watches none of these.
func newCluster(ctx context.Context, config *rest.Config, s settings) (cluster.Cluster, error) {
	c, err := object.NewCluster(config, v1alpha1.AddToScheme, func(o *cluster.Options) {
		o.Cache.DefaultTransform = cache.TransformStripManagedFields()
		o.Cache.DefaultNamespaces = object.Only(s.namespaces)
		o.Cache.ByObject = map[client.Object]cache.ByObject{
			object.MetadataOf(object.SecretKind): {Transform: trimmed},
		}
		// Secrets are read from the API server: a cache would hold the values of all Secrets.
		o.Client.Cache = &client.CacheOptions{DisableFor: []client.Object{&corev1.Secret{}}}
	})
	if err != nil {
		return nil, fmt.Errorf("setting up the cache of zopp: %w", err)
	}
	// Or the first review would wait for the cache.
	kinds := []client.Object{object.MetadataOf(object.SecretKind), &corev1.Namespace{}}
	if s.secretSyncs {
		kinds = append(kinds, &v1alpha1.ZoppSecretSync{})
		if err := c.GetFieldIndexer().IndexField(ctx, &v1alpha1.ZoppSecretSync{}, targetIndex, targets); err != nil {
			return nil, fmt.Errorf("indexing ZoppSecretSyncs: %w", err)
		}
	}
	for _, kind := range kinds {
		if _, err := c.GetCache().GetInformer(ctx, kind); err != nil {
			return nil, fmt.Errorf("watching %T: %w", kind, err)
		}
	}
	return c, nil
}

// targets are the values of targetIndex.
func targets(of client.Object) []string {
	return []string{targetOf(of.(*v1alpha1.ZoppSecretSync)).String()}
}

// trimmed is a cache transform. It keeps the metadata of a Secret that identifies its version,
// and the annotations of a Secret that has zopp annotations. Other annotations may be large, and
// kubectl's last-applied annotation contains the values.
func trimmed(of any) (any, error) {
	metadata, ok := of.(*metav1.PartialObjectMetadata)
	if !ok {
		return of, nil
	}
	metadata.ManagedFields = nil
	maps.DeleteFunc(metadata.Annotations, func(name, _ string) bool { return !strings.HasPrefix(name, v1alpha1.GroupName+"/") })
	if len(metadata.Annotations) == 0 {
		return object.IdentityOnly(metadata)
	}
	return metadata, nil
}
