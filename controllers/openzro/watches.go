package openzro

import (
	"cmp"
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	v1 "github.com/lintel-policy/lintel/api/openzro/v1"
	"github.com/lintel-policy/lintel/controllers/object"
)

// followGroups enqueues objects that wait for a group which an OZGroup has received.
func (a *controllerSet) followGroups(concerned func(of client.Object, group string) bool, list client.ObjectList) func(cluster.Cluster) source.Source {
	return func(c cluster.Cluster) source.Source {
		return object.Mapped(c, &v1.OZGroup{}, func(ctx context.Context, group *v1.OZGroup) []reconcile.Request {
			return object.RequestsFor(ctx, a.client, list.DeepCopyObject().(client.ObjectList), func(of client.Object) bool {
				return concerned(of, group.Spec.Name)
			}, client.InNamespace(group.Namespace))
		}, object.Updates(func(was, is *v1.OZGroup) bool { return was.Status.GroupID != is.Status.GroupID }))
	}
}

// followNamesakes enqueues OZGroups whose group turns out to belong to another namespace, or no
// longer does.
func (a *controllerSet) followNamesakes(c cluster.Cluster) source.Source {
	return object.Mapped(c, &v1.OZGroup{}, func(ctx context.Context, group *v1.OZGroup) []reconcile.Request {
		return object.RequestsFor(ctx, a.client, &v1.OZGroupList{}, func(other *v1.OZGroup) bool {
			return other.Namespace != group.Namespace && (other.Status.GroupID == "" || other.Status.Adopted)
		}, client.MatchingFields{nameIndex: group.Spec.Name})
	}, predicate.TypedFuncs[*v1.OZGroup]{
		CreateFunc: func(event.TypedCreateEvent[*v1.OZGroup]) bool { return false },
		UpdateFunc: func(e event.TypedUpdateEvent[*v1.OZGroup]) bool {
			return e.ObjectOld.Status.GroupID != e.ObjectNew.Status.GroupID || e.ObjectOld.Status.Adopted != e.ObjectNew.Status.Adopted
		},
	})
}

func policyConcerned(of client.Object, group string) bool {
	spec := of.(*v1.OZPolicy).Spec
	return slices.Contains(spec.SourceGroups, group) || slices.Contains(spec.DestinationGroups, group) || of.(*v1.OZPolicy).Status.ManagedServiceList != nil
}

func resourceConcerned(of client.Object, group string) bool {
	return slices.Contains(of.(*v1.OZResource).Spec.Groups, group)
}

func keyConcerned(of client.Object, group string) bool {
	return slices.Contains(of.(*v1.OZSetupKey).Spec.AutoGroups, group)
}

// followKeySecrets has those keys looked at whose Secret changes.
func (a *controllerSet) followKeySecrets(c cluster.Cluster) source.Source {
	return object.Mapped[client.Object](c, object.MetadataOf(object.SecretKind), func(ctx context.Context, secret client.Object) []reconcile.Request {
		return object.RequestsFor(ctx, a.client, &v1.OZSetupKeyList{}, func(k *v1.OZSetupKey) bool { return k.SecretKey().Name == secret.GetName() }, client.InNamespace(secret.GetNamespace()))
	})
}

func networkResourceConcerned(of client.Object, group string) bool {
	return slices.Contains(of.(*v1.OZNetworkResource).Spec.Groups, group)
}

// owned watches the objects that are created for OZRoutingPeers.
func owned[T client.Object](kind T) func(cluster.Cluster) source.Source {
	return func(c cluster.Cluster) source.Source { return object.Owned(c, kind, &v1.OZRoutingPeer{}) }
}

// followRoutingPeers has those resources looked at whose network is created, or whose
// OZRoutingPeer names another zone or other namespaces.
func (a *controllerSet) followRoutingPeers(c cluster.Cluster) source.Source {
	return object.Mapped(c, &v1.OZRoutingPeer{}, func(ctx context.Context, p *v1.OZRoutingPeer) []reconcile.Request {
		return object.RequestsFor(ctx, a.client, &v1.OZNetworkResourceList{}, func(n *v1.OZNetworkResource) bool {
			ref := n.Spec.RoutingPeerRef
			return ref.Name == p.Name && cmp.Or(ref.Namespace, n.Namespace) == p.Namespace
		})
	}, object.Updates(func(was, is *v1.OZRoutingPeer) bool {
		return was.Status.NetworkID != is.Status.NetworkID || was.Generation != is.Generation
	}))
}

// followServices has those resources looked at whose address changes.
func (a *controllerSet) followServices(c cluster.Cluster) source.Source {
	return object.Mapped(c, &corev1.Service{}, func(ctx context.Context, s *corev1.Service) []reconcile.Request {
		return object.RequestsFor(ctx, a.client, &v1.OZNetworkResourceList{}, func(n *v1.OZNetworkResource) bool { return n.Spec.ServiceRef.Name == s.Name }, client.InNamespace(s.Namespace))
	}, object.Updates(func(was, is *corev1.Service) bool { return was.Spec.ClusterIP != is.Spec.ClusterIP }))
}

// followResources has those policies looked at that a resource names, or has named.
func (a *controllerSet) followResources(c cluster.Cluster) source.Source {
	return object.Mapped(c, &v1.OZResource{}, func(ctx context.Context, r *v1.OZResource) []reconcile.Request {
		name := r.Namespace + "/" + r.Name
		return object.RequestsFor(ctx, a.client, &v1.OZPolicyList{}, func(p *v1.OZPolicy) bool {
			return namesPolicy(r, p.Name) || slices.Contains(p.Status.ManagedServiceList, name)
		}, client.InNamespace(r.Namespace))
	}, object.Updates(func(was, is *v1.OZResource) bool {
		return was.Generation != is.Generation || was.DeletionTimestamp.IsZero() != is.DeletionTimestamp.IsZero()
	}))
}

// followPolicies enqueues resources that name a policy which is created or deleted.
func (a *controllerSet) followPolicies(c cluster.Cluster) source.Source {
	return object.Mapped(c, &v1.OZPolicy{}, func(ctx context.Context, p *v1.OZPolicy) []reconcile.Request {
		return object.RequestsFor(ctx, a.client, &v1.OZResourceList{}, func(r *v1.OZResource) bool { return namesPolicy(r, p.Name) }, client.InNamespace(p.Namespace))
	}, object.Updates(func(was, is *v1.OZPolicy) bool { return false }))
}
