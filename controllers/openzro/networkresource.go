package openzro

import (
	"context"
	"net/netip"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/lintel-policy/lintel/api/openzro/v1"
	"github.com/lintel-policy/lintel/controllers/openzro/management"
)

// networkResources carries out OZNetworkResources.
type networkResources struct {
	*neighbours
	// cluster is the name of this cluster.
	cluster string
}

func (n *networkResources) keep(ctx context.Context, t *task[*v1.OZNetworkResource]) error {
	network, err := n.network(ctx, t.object)
	if err != nil {
		return err
	}
	address, err := n.address(ctx, t.object)
	if err != nil {
		return err
	}
	ids, err := n.groupIDs(ctx, t.Tenant, t.by, t.object.Spec.Groups)
	if err != nil {
		return err
	}
	wanted := n.wanted(t.next, network)
	wanted.request.Address, wanted.request.Groups = address, nonNil(idsOf(ids, t.object.Spec.Groups))
	if network != t.object.Status.NetworkID {
		t.next.Status.ResourceID = "" // the network was made again
	}
	held, err := holdResource(ctx, t, wanted)
	if err != nil {
		return err
	}
	t.next.Status.NetworkID, t.next.Status.ResourceID = network, held
	return nil
}

// wanted is the resource of an object in a network. Its name is unlike those of other
// clusters and namespaces, for an account has each name once.
func (n *networkResources) wanted(of *v1.OZNetworkResource, network string) wantedResource {
	return wantedResource{
		network: network, id: &of.Status.ResourceID, record: recordOf("OZNetworkResource", of),
		request: management.ResourceRequest{Name: n.cluster + "-" + of.Namespace + "-" + of.Name, Enabled: true},
	}
}

// network is that of the OZRoutingPeer that an object names.
func (n *networkResources) network(ctx context.Context, of *v1.OZNetworkResource) (id string, err error) {
	var peer v1.OZRoutingPeer
	name := of.Spec.RoutingPeerRef.Name
	err = n.client.Get(ctx, client.ObjectKey{Namespace: of.Namespace, Name: name}, &peer)
	switch {
	case apierrors.IsNotFound(err):
		return "", waiting(v1.ReasonDependency, "this namespace has no OZRoutingPeer %s, which spec.routingPeerRef names: write it", name)
	case err != nil:
		return "", err
	case peer.Status.NetworkID == "":
		return "", waiting(v1.ReasonDependency, "OZRoutingPeer %s has no network yet", name)
	}
	return peer.Status.NetworkID, nil
}

// address is that of the Service that an object names.
func (n *networkResources) address(ctx context.Context, of *v1.OZNetworkResource) (string, error) {
	var service corev1.Service
	name := of.Spec.ServiceRef.Name
	err := n.client.Get(ctx, client.ObjectKey{Namespace: of.Namespace, Name: name}, &service)
	switch {
	case apierrors.IsNotFound(err):
		return "", waiting(v1.ReasonDependency, "this namespace has no Service %s, which spec.serviceRef names: make it", name)
	case err != nil:
		return "", err
	}
	if _, err := netip.ParseAddr(service.Spec.ClusterIP); err != nil {
		return "", waiting(v1.ReasonDependency, "Service %s has no IP of the cluster: it must not be headless, nor of type ExternalName", name)
	}
	return service.Spec.ClusterIP, nil
}

func (n *networkResources) remove(ctx context.Context, t *task[*v1.OZNetworkResource]) error {
	if t.object.Status.NetworkID != "" {
		return removeResource(ctx, t, n.wanted(t.next, t.object.Status.NetworkID))
	}
	// One may have been made of which no status tells.
	network, err := n.network(ctx, t.object)
	if _, waits := err.(*problem); waits {
		return nil
	}
	if err != nil {
		return err
	}
	return removeResource(ctx, t, n.wanted(t.next, network))
}
