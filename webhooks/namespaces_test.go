package webhooks

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

func TestNamespaces(t *testing.T) {
	shop := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		Name: "shop", Labels: map[string]string{"env": "prod"}, ManagedFields: []metav1.ManagedFieldsEntry{{
			Manager: "kubectl", Operation: metav1.ManagedFieldsOperationApply, APIVersion: "v1", FieldsType: "FieldsV1",
			FieldsV1: metav1.NewFieldsV1("{}"),
		}},
	}}
	empty := fake.NewClientBuilder().Build()
	full := fake.NewClientBuilder().WithObjects(shop).Build()
	broken := interceptor.NewClient(empty, interceptor.Funcs{
		Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
			return errors.New("cache is not synced")
		},
	})

	for name, namespaces := range map[string]*Namespaces{
		"cached":       NewNamespaces(full, broken),
		"not yet seen": NewNamespaces(empty, full),
	} {
		t.Run(name, func(t *testing.T) {
			text, err := namespaces.Namespace(t.Context(), "shop")
			require.NoError(t, err)
			assert.Contains(t, string(text), `"kind":"Namespace","apiVersion":"v1"`)
			assert.Contains(t, string(text), `"labels":{"env":"prod"}`)
			assert.NotContains(t, string(text), "managedFields")
		})
	}
	_, err := NewNamespaces(empty, empty).Namespace(t.Context(), "shop")
	assert.ErrorContains(t, err, "reading namespace shop")
	_, err = NewNamespaces(broken, full).Namespace(t.Context(), "shop")
	assert.ErrorContains(t, err, "not synced")
}
