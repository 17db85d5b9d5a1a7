package openzro

import (
	"context"
	"fmt"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/lintel-policy/lintel/api/openzro/v1"
	"github.com/lintel-policy/lintel/controllers/openzro/management"
)

// neighbours are the other namespaces, which may have the same account at a server: by the
// default key, or by keys of their own. The items of their objects belong to them.
type neighbours struct {
	client client.Reader
	access *access
}

// haveGroup reports whether a group at a server belongs to an OZGroup of another namespace. A
// matching ID in an OZGroup is not enough: a server may return any IDs, and a tenant may run
// their own server.
func (n *neighbours) haveGroup(ctx context.Context, by credentials, group management.Group) (bool, error) {
	var named v1.OZGroupList
	if err := n.client.List(ctx, &named, client.MatchingFields{nameIndex: group.Name}, client.UnsafeDisableDeepCopy); err != nil {
		return false, fmt.Errorf("looking for OZGroups named %q at the server: %w", group.Name, err)
	}
	for _, other := range named.Items {
		if other.Namespace == by.namespace || other.Status.GroupID != group.ID || other.Status.Adopted {
			continue
		}
		if asks, err := n.access.asks(ctx, other.Namespace, by.URL); asks || err != nil {
			return asks, err
		}
	}
	return false, nil
}

// networkRecordOf returns the prefix of the descriptions of a namespace's networks, of any
// cluster.
func networkRecordOf(namespace string) string {
	return fmt.Sprintf("%snetwork of namespace %s in cluster ", recordPrefix, namespace)
}

// isOfNeighbour reports whether a network was created for another namespace.
func isOfNeighbour(network management.Network, namespace string) bool {
	return strings.HasPrefix(network.Description, recordPrefix+"network of namespace ") && !strings.HasPrefix(network.Description, networkRecordOf(namespace))
}
