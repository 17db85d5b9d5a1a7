package openzro

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/lintel-policy/lintel/api/openzro/v1"
	"github.com/lintel-policy/lintel/controllers/openzro/management"
)

// grants holds the administrator's permissions for namespaces that share an account with others.
// An item that was created in the dashboard of such an account may belong to another tenant.
type grants struct {
	*neighbours
	tenants *management.TenantCache
	settings
}

// mayEnrol refuses groups that peers of a setup key are not to join without a grant. In an
// account that several namespaces share, a group that the administrator created may give
// access that the namespace does not have.
func (g *grants) mayEnrol(ctx context.Context, t *task[*v1.OZSetupKey], groups []management.Group) error {
	if len(groups) == 0 {
		return nil
	}
	if shared, err := g.isShared(ctx, t.object, t.Tenant, t.by); err != nil || !shared {
		return err
	}
	var all v1.OZGroupList
	if err := g.client.List(ctx, &all, client.InNamespace(t.object.Namespace), client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("looking for the OZGroups of autoGroups: %w", err)
	}
	peer, err := g.routingPeerOf(ctx, t.object)
	if err != nil {
		return err
	}
	var missing []string
	for _, group := range groups {
		own := slices.ContainsFunc(all.Items, func(g v1.OZGroup) bool {
			return g.Status.GroupID == group.ID && (!g.Status.Adopted || isSibling(&g, t.object, peer))
		})
		if !own && !isGrantedGroup(g.autoGroups, t.object.Namespace, group) {
			missing = append(missing, group.Name)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	slices.Sort(missing)
	return stalled(v1.ReasonNotGranted,
		"spec.autoGroups: several namespaces share the account, and namespace %s has no grant for the group %s: name a group that an OZGroup of this namespace created, or have the administrator start the manager with --openzro-auto-groups=%q, which covers groups that were created in the dashboard or by the API",
		t.object.Namespace, quoted(missing), t.object.Namespace+"="+missing[0])
}

// mayAdopt refuses the adoption of an item of an account that several namespaces share without
// a grant: the object would change or use what an administrator or another tenant created.
func (g *grants) mayAdopt(ctx context.Context, of v1.Object, tenant *management.Tenant, by credentials, item remoteItem) error {
	if shared, err := g.isShared(ctx, of, tenant, by); err != nil || !shared {
		return err
	}
	granted := isGranted(g.adoptions, of.GetNamespace(), item.name)
	if item.kind == kindGroup {
		group, _ := tenant.Groups.Get(item.id)
		granted = isGrantedGroup(g.adoptions, of.GetNamespace(), group)
	}
	if granted {
		return nil
	}
	return stalled(v1.ReasonNotGranted,
		"metadata.annotations[%s]: several namespaces share the account, and namespace %s has no grant to adopt the %s: choose another name and remove the annotation, or have the administrator start the manager with --openzro-adoptions=%q",
		v1.AdoptAnnotation, of.GetNamespace(), item, of.GetNamespace()+"="+item.name)
}

// mayUseZone refuses a DNS zone of an account that several namespaces share without a grant of
// the namespace whose OZRoutingPeer names it: peers of other tenants may resolve names by it.
func (g *grants) mayUseZone(ctx context.Context, t *task[*v1.OZNetworkResource], namespace, domain string) error {
	shared, err := namespace != t.object.Namespace, error(nil)
	if !shared {
		shared, err = g.isShared(ctx, t.object, t.Tenant, t.by)
	}
	if err != nil || !shared || isGranted(g.dnsZones, namespace, domain) {
		return err
	}
	return stalled(v1.ReasonNotGranted,
		"spec.dnsZoneRef of the OZRoutingPeer: several namespaces share the account, and namespace %s has no grant for the DNS zone %s: remove the field, or have the administrator start the manager with --openzro-dns-zones=%q",
		namespace, domain, namespace+"="+domain)
}

// routingPeerOf is the OZRoutingPeer that controls a setup key: nil if there is none. Any user who
// creates a setup key can set an owner reference, so that its UID is compared with the object.
func (g *grants) routingPeerOf(ctx context.Context, key *v1.OZSetupKey) (*v1.OZRoutingPeer, error) {
	owner := metav1.GetControllerOf(key)
	if owner == nil || owner.APIVersion != v1.SchemeGroupVersion.String() || owner.Kind != "OZRoutingPeer" {
		return nil, nil
	}
	peer := &v1.OZRoutingPeer{}
	err := g.client.Get(ctx, client.ObjectKey{Namespace: key.Namespace, Name: owner.Name}, peer)
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("reading the OZRoutingPeer of setup key %s: %w", key.Name, err)
	case peer.UID != owner.UID:
		return nil, nil
	}
	return peer, nil
}

// isSibling reports whether a group and a setup key are those of an OZRoutingPeer, whose group may be
// adopted.
func isSibling(group *v1.OZGroup, key *v1.OZSetupKey, peer *v1.OZRoutingPeer) bool {
	return peer != nil && group.Name == childName(peer) && key.Name == childName(peer) &&
		metav1.IsControlledBy(group, peer) && metav1.IsControlledBy(key, peer)
}

// isShared reports whether the account of an object may have other namespaces: that of the
// default key does, and others do once another namespace has a key for it. The statuses of
// objects tell also after a restart, when no other key has been used yet.
func (g *grants) isShared(ctx context.Context, of v1.Object, tenant *management.Tenant, by credentials) (bool, error) {
	if by.source == v1.KeyDefault {
		return true, nil
	}
	for _, other := range g.tenants.All() {
		if !tenant.SharesAccount(other) {
			continue
		}
		for _, member := range other.Members() {
			if member.Namespace != of.GetNamespace() {
				return true, nil
			}
		}
	}
	account, err := tenant.Account(ctx)
	if err != nil {
		return false, err
	}
	asked := map[string]bool{of.GetNamespace(): true}
	for _, kind := range kinds() {
		list, err := emptyOf[client.ObjectList](kindOf(kind) + "List")
		if err != nil {
			return false, err
		}
		if err := g.client.List(ctx, list, client.MatchingFields{accountIndex: account}, client.UnsafeDisableDeepCopy); err != nil {
			return false, fmt.Errorf("looking for other namespaces of account %s: %w", account, err)
		}
		shared := false
		err = meta.EachListItem(list, func(item runtime.Object) error {
			namespace := item.(v1.Object).GetNamespace()
			if shared || asked[namespace] {
				return nil
			}
			asked[namespace] = true
			asks, err := g.access.asks(ctx, namespace, by.URL)
			shared = asks
			return err
		})
		if err != nil || shared {
			return shared, err
		}
	}
	return false, nil
}

// isGrantedGroup reports whether a grant permits a namespace to use a group. Grants are for
// groups that the administrator named: an identity provider may have others of these names.
func isGrantedGroup(grants []string, namespace string, group management.Group) bool {
	return group.IsIssuedByAPI() && isGranted(grants, namespace, group.Name)
}

// isGranted reports whether a grant, NAMESPACE=NAME, permits a namespace to use an item.
func isGranted(grants []string, namespace, name string) bool {
	return slices.ContainsFunc(grants, func(grant string) bool {
		namespaces, names, _ := strings.Cut(grant, "=")
		one, _ := path.Match(namespaces, namespace)
		other, _ := path.Match(names, name)
		return one && (other || names == name)
	})
}

// hasGrant reports whether any grant names a namespace.
func hasGrant(grants []string, namespace string) bool {
	return slices.ContainsFunc(grants, func(grant string) bool {
		namespaces, _, _ := strings.Cut(grant, "=")
		matches, _ := path.Match(namespaces, namespace)
		return matches
	})
}
