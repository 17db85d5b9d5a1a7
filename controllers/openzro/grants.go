package openzro

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/lintel-policy/lintel/api/openzro/v1"
)

// mayEnrol refuses groups that peers of a setup key are not to join without a grant. In an
// account that several namespaces share, a group that the administrator created may give
// access that the namespace does not have. ids are the groups by their names.
func (k *setupKeys) mayEnrol(ctx context.Context, t *task[*v1.OZSetupKey], ids map[string]string) error {
	if len(ids) == 0 || !k.isShared(t) {
		return nil
	}
	var all v1.OZGroupList
	if err := k.client.List(ctx, &all, client.InNamespace(t.object.Namespace), client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("looking for the OZGroups of autoGroups: %w", err)
	}
	var missing []string
	for name, id := range ids {
		own := slices.ContainsFunc(all.Items, func(g v1.OZGroup) bool {
			return g.Status.GroupID == id && (!g.Status.Adopted || isSibling(&g, t.object))
		})
		if !own && !isGranted(k.grants, t.object.Namespace, name) {
			missing = append(missing, name)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	slices.Sort(missing)
	return stalled(v1.ReasonNotGranted,
		"spec.autoGroups: several namespaces share the account, and namespace %s has no grant for the group %s: name a group that an OZGroup of this namespace created, or have the administrator start the manager with --openzro-auto-groups=%q",
		t.object.Namespace, quoted(missing), t.object.Namespace+"="+missing[0])
}

// isSibling reports whether a group and a setup key are those of one OZRoutingPeer, whose group
// may be adopted. Admission permits their names to Lintel only.
func isSibling(group *v1.OZGroup, key *v1.OZSetupKey) bool {
	owner, other := metav1.GetControllerOf(group), metav1.GetControllerOf(key)
	return strings.HasPrefix(key.Name, childPrefix) && group.Name == key.Name &&
		owner != nil && other != nil && owner.Kind == "OZRoutingPeer" && owner.UID == other.UID
}

// isShared reports whether the account of an object may have other namespaces: that of the
// default key does, and others do once another namespace is known to have it.
func (k *setupKeys) isShared(t *task[*v1.OZSetupKey]) bool {
	if t.by.source == v1.KeyDefault {
		return true
	}
	for _, other := range k.tenants.All() {
		if !t.SharesAccount(other) {
			continue
		}
		for _, member := range other.Members() {
			if member.Namespace != t.object.Namespace {
				return true
			}
		}
	}
	return false
}

// isGranted reports whether a grant permits a namespace to name a group.
func isGranted(grants []string, namespace, group string) bool {
	return slices.ContainsFunc(grants, func(grant string) bool {
		namespaces, groups, _ := strings.Cut(grant, "=")
		one, _ := path.Match(namespaces, namespace)
		other, _ := path.Match(groups, group)
		return one && (other || groups == group)
	})
}
