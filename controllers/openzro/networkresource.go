package openzro

import (
	"cmp"
	"context"
	"errors"
	"net/netip"
	"path"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/lintel-policy/lintel/api/openzro/v1"
	"github.com/lintel-policy/lintel/controllers/openzro/management"
)

// networkResourceController reconciles OZNetworkResources.
type networkResourceController struct {
	*neighbours
	grants *grants
	// cluster is the name of this cluster.
	cluster string
}

func (n *networkResourceController) keep(ctx context.Context, t *task[*v1.OZNetworkResource]) error {
	peer, err := n.peer(ctx, t.object, t.next.Status.Account)
	if err != nil {
		if refused, is := errors.AsType[*problem](err); is && refused.reason == v1.ReasonNotGranted {
			return firstOf(n.withdraw(ctx, t), err)
		}
		return err
	}
	network := peer.Status.NetworkID
	address, err := n.address(ctx, t.object)
	if isProblem(err) { // the former address may be another Service's by now
		return firstOf(n.withdraw(ctx, t), err)
	}
	if err != nil {
		return err
	}
	refused := n.withdrawRecord(ctx, t, peer) // the groups may have to be waited for
	if refused != nil && !isProblem(refused) {
		return refused
	}
	groups, unknown := n.groups(ctx, t)
	if unknown != nil && !isProblem(unknown) {
		return unknown
	}
	wanted := n.wanted(t.next, network)
	wanted.owner = peer.Namespace
	wanted.request.Address, wanted.request.Groups = address, nonNil(groups)
	if network != t.object.Status.NetworkID {
		t.next.Status.ResourceID = "" // the network was re-created
	}
	if unknown != nil {
		if held, err := narrowResource(ctx, t, &wanted); err != nil || !held {
			return firstOf(err, unknown)
		}
	}
	held, err := holdResource(ctx, t, wanted)
	if err != nil {
		return err
	}
	t.next.Status.NetworkID, t.next.Status.ResourceID = network, held
	if refused == nil {
		refused = n.record(ctx, t, peer, address)
	}
	return errors.Join(unknown, refused)
}

// groups are the IDs of the groups of an object. With a problem, they are those of which there
// is none.
func (n *networkResourceController) groups(ctx context.Context, t *task[*v1.OZNetworkResource]) ([]string, error) {
	spec := &t.object.Spec
	named, err := n.groupIDs(ctx, t.Tenant, t.by, spec.Groups)
	if err != nil && !isProblem(err) {
		return nil, err
	}
	byID, other := n.groupsByID(ctx, t.Tenant, t.by, "spec.groupIDs", spec.GroupIDs)
	if other != nil && !isProblem(other) {
		return nil, other
	}
	return joined(idsOf(named, spec.Groups), management.GroupIDs(byID)), cmp.Or(err, other)
}

// withdraw removes the items that were created in a network whose owner no longer permits its
// use.
func (n *networkResourceController) withdraw(ctx context.Context, t *task[*v1.OZNetworkResource]) error {
	if err := n.remove(ctx, t); err != nil {
		return err
	}
	t.next.Status.NetworkID, t.next.Status.ResourceID = "", ""
	return nil
}

// wanted is the resource of an object in a network. Its name is unlike those of other
// clusters and namespaces, for an account has each name once.
func (n *networkResourceController) wanted(of *v1.OZNetworkResource, network string) wantedResource {
	return wantedResource{
		network: network, id: &of.Status.ResourceID, record: recordOf("OZNetworkResource", of),
		request: management.ResourceRequest{Name: n.cluster + "-" + of.Namespace + "-" + of.Name, Enabled: true},
	}
}

// peer is the OZRoutingPeer that an object names. The one of another namespace has to permit it,
// and to be in the same account.
func (n *networkResourceController) peer(ctx context.Context, of *v1.OZNetworkResource, account string) (*v1.OZRoutingPeer, error) {
	name := peerName(of)
	peer, err := n.namedPeer(ctx, of)
	if err != nil {
		return nil, err
	}
	if name.Namespace != of.Namespace {
		// Whether it exists is not for other namespaces to know.
		if peer == nil || !peer.DeletionTimestamp.IsZero() || !matchesAny(peer.Spec.AllowedNamespaces, of.Namespace) {
			return nil, waiting(v1.ReasonNotGranted, "spec.routingPeerRef: namespace %s has no OZRoutingPeer %s that permits resources of namespace %s: have its owner list the namespace in spec.allowedNamespaces", name.Namespace, name.Name, of.Namespace)
		}
		if peer.Status.NetworkID != "" && peer.Status.Account != account {
			return nil, waiting(v1.ReasonDependency, "spec.routingPeerRef: OZRoutingPeer %s of namespace %s is in another account: give this namespace a key to that account", name.Name, name.Namespace)
		}
	}
	switch {
	case peer == nil:
		return nil, waiting(v1.ReasonDependency, "this namespace has no OZRoutingPeer %s, which spec.routingPeerRef names: write it", name.Name)
	case peer.Status.NetworkID == "":
		return nil, waiting(v1.ReasonDependency, "OZRoutingPeer %s has no network yet", name.Name)
	}
	return peer, nil
}

func peerName(of *v1.OZNetworkResource) client.ObjectKey {
	return client.ObjectKey{Namespace: cmp.Or(of.Spec.RoutingPeerRef.Namespace, of.Namespace), Name: of.Spec.RoutingPeerRef.Name}
}

// namedPeer returns the OZRoutingPeer that an object names, without a check of its permissions:
// nil if it does not exist.
func (n *networkResourceController) namedPeer(ctx context.Context, of *v1.OZNetworkResource) (*v1.OZRoutingPeer, error) {
	var peer v1.OZRoutingPeer
	if err := n.client.Get(ctx, peerName(of), &peer); err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	return &peer, nil
}

// matchesAny reports whether one of some globs matches a name.
func matchesAny(globs []string, name string) bool {
	return slices.ContainsFunc(globs, func(glob string) bool { matches, _ := path.Match(glob, name); return matches })
}

// address is that of the Service that an object names.
func (n *networkResourceController) address(ctx context.Context, of *v1.OZNetworkResource) (string, error) {
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

func (n *networkResourceController) remove(ctx context.Context, t *task[*v1.OZNetworkResource]) error {
	if err := n.removeRecord(ctx, t); err != nil {
		return err
	}
	if t.object.Status.NetworkID != "" {
		return removeResource(ctx, t, n.wanted(t.next, t.object.Status.NetworkID))
	}
	// A resource may have been created and not noted in the status. It is removed also if the
	// peer is being deleted, or no longer permits it.
	peer, err := n.namedPeer(ctx, t.object)
	if err != nil || peer == nil || peer.Status.NetworkID == "" {
		return err
	}
	if account, err := t.Account(ctx); err != nil || account != peer.Status.Account {
		return err
	}
	return removeResource(ctx, t, n.wanted(t.next, peer.Status.NetworkID))
}
