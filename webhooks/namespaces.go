package webhooks

import (
	"context"
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Namespaces reads Namespaces from a cache, and live those that are not in the cache yet: the
// first object often arrives moments after its namespace was created.
type Namespaces struct {
	cached, live client.Reader
}

// NewNamespaces takes a manager's client (or cache) and its APIReader.
func NewNamespaces(cached, live client.Reader) *Namespaces {
	return &Namespaces{cached: cached, live: live}
}

// Namespace implements rules.NamespaceGetter. Managed fields are left out: they say
// nothing about the namespace and are the larger part of it.
func (n *Namespaces) Namespace(ctx context.Context, name string) ([]byte, error) {
	var namespace corev1.Namespace
	key := types.NamespacedName{Name: name}
	err := n.cached.Get(ctx, key, &namespace)
	if apierrors.IsNotFound(err) {
		err = n.live.Get(ctx, key, &namespace)
	}
	if err != nil {
		return nil, fmt.Errorf("reading namespace %s: %w", name, err)
	}
	namespace.APIVersion, namespace.Kind = "v1", "Namespace"
	namespace.ManagedFields = nil
	return json.Marshal(&namespace)
}
