package issuing

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1alpha1 "github.com/lintel-policy/lintel/api/openvox/v1alpha1"
	"github.com/lintel-policy/lintel/controllers/object"
)

// watches maps changes to the Certificates that they concern, by the cache.
type watches struct{ reader client.Reader }

// certificatesOf are those that wait for a CA, or ask it.
func (w watches) certificatesOf(ctx context.Context, ca *v1alpha1.CertificateAuthority) []reconcile.Request {
	return object.RequestsFor(ctx, w.reader, &v1alpha1.CertificateList{}, func(c *v1alpha1.Certificate) bool {
		return c.Spec.AuthorityRef == ca.Name && c.Status.Phase != v1alpha1.CertificateSigned
	}, client.InNamespace(ca.Namespace))
}

// certificatesOfPool are those that may have its host name.
func (w watches) certificatesOfPool(ctx context.Context, pool *v1alpha1.Pool) (requests []reconcile.Request) {
	var servers v1alpha1.ServerList
	if err := w.reader.List(ctx, &servers, client.InNamespace(pool.Namespace), client.UnsafeDisableDeepCopy); err != nil {
		log.FromContext(ctx).Error(err, "listing the Certificates that a Pool affects")
		return nil
	}
	for i := range servers.Items {
		if len(servers.Items[i].Spec.PoolRefs) > 0 { // when a Pool is deleted, another one gets its host name
			requests = append(requests, object.Request(pool.Namespace, servers.Items[i].Spec.CertificateRef)...)
		}
	}
	return requests
}
