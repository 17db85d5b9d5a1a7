package openzro

import (
	"context"
	"fmt"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/lintel-policy/lintel/api/openzro/v1"
	"github.com/lintel-policy/lintel/controllers/openzro/management"
)

// neighbours are the namespaces beside one, which may have the same account at a server: by
// the default key, or by keys of their own. What is made there for their objects is theirs.
type neighbours struct {
	client client.Reader
	access *access
}

// haveGroup says whether a group at the server that somebody asks is that of an OZGroup of
// another namespace. That an OZGroup has its ID is not enough: what a server says IDs are
// may be anything, and a tenant may have a server of their own.
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

// networkRecordOf is how the descriptions begin of the networks of a namespace, whatever the
// cluster.
func networkRecordOf(namespace string) string {
	return fmt.Sprintf("%snetwork of namespace %s in cluster ", recordPrefix, namespace)
}

// isOfNeighbour says whether a network was made for another namespace.
func isOfNeighbour(network management.Network, namespace string) bool {
	return strings.HasPrefix(network.Description, recordPrefix+"network of namespace ") && !strings.HasPrefix(network.Description, networkRecordOf(namespace))
}
