package layout

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/lintel-policy/lintel/api/openvox/v1alpha1"
)

// ConfigsIn are the Configs of a namespace. They are the cache's own where a reader has one: for
// reading only.
func ConfigsIn(ctx context.Context, reader client.Reader, namespace string) ([]v1alpha1.Config, error) {
	var list v1alpha1.ConfigList
	if err := reader.List(ctx, &list, client.InNamespace(namespace), client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing the Configs of %s: %w", namespace, err)
	}
	return list.Items, nil
}

// ServersIn are the Servers of a namespace, as ConfigsIn are its Configs.
func ServersIn(ctx context.Context, reader client.Reader, namespace string) ([]v1alpha1.Server, error) {
	var list v1alpha1.ServerList
	if err := reader.List(ctx, &list, client.InNamespace(namespace), client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing the Servers of %s: %w", namespace, err)
	}
	return list.Items, nil
}

// ReadSecret is a Secret: nil, and no error, where there is none.
func ReadSecret(ctx context.Context, reader client.Reader, namespace, name string) (*corev1.Secret, error) {
	secret := &corev1.Secret{}
	err := reader.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, secret)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading Secret %s: %w", name, err)
	}
	return secret, nil
}
