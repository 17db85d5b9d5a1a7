package object

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func TestBounded(t *testing.T) {
	t.Parallel()
	large := strings.Repeat("x", maxUncontrolled)
	meta := metav1.ObjectMeta{
		Namespace: "a", Name: "b", UID: "c", ResourceVersion: "7", Labels: map[string]string{"l": "m"}, Finalizers: []string{"f/f"},
		Annotations: map[string]string{"note": large},
	}
	controlledBy := func(group string) metav1.ObjectMeta {
		controlled := *meta.DeepCopy()
		controlled.OwnerReferences = []metav1.OwnerReference{{APIVersion: group + "/v1", Kind: "Sample", Name: "s", Controller: new(true)}}
		return controlled
	}
	small := *meta.DeepCopy()
	small.Annotations = nil
	for name, c := range map[string]struct {
		object  client.Object
		reduced bool
	}{
		"small":                   {&corev1.ConfigMap{ObjectMeta: small, Data: map[string]string{"k": "v"}}, false},
		"large":                   {&corev1.ConfigMap{ObjectMeta: small, Data: map[string]string{"k": large}}, true},
		"large, of the group":     {&corev1.ConfigMap{ObjectMeta: controlledBy("example.com"), Data: map[string]string{"k": large}}, false},
		"large, of another group": {&corev1.ConfigMap{ObjectMeta: controlledBy("other.example.com"), Data: map[string]string{"k": large}}, true},
		"a Deployment":            {&appsv1.Deployment{ObjectMeta: meta, Spec: appsv1.DeploymentSpec{Replicas: new(int32(3))}}, true},
		"metadata":                {&metav1.PartialObjectMetadata{ObjectMeta: meta}, true},
		"metadata, of the group":  {&metav1.PartialObjectMetadata{ObjectMeta: controlledBy("example.com")}, false},
	} {
		got, err := Bounded("example.com")(c.object)
		require.NoError(t, err, name)
		if !c.reduced {
			require.Same(t, c.object, got, name)
			continue
		}
		kept := got.(client.Object)
		require.IsType(t, c.object, got, name)
		require.Less(t, sizeOf(kept), 512, name)
		require.Equal(t, []string{"a", "b", "c", "7"}, []string{kept.GetNamespace(), kept.GetName(), string(kept.GetUID()), kept.GetResourceVersion()}, name)
		require.Equal(t, c.object.GetLabels(), kept.GetLabels(), name)
		require.Equal(t, c.object.GetFinalizers(), kept.GetFinalizers(), name)
		require.Equal(t, metav1.GetControllerOf(c.object), metav1.GetControllerOf(kept), name)
		if deployment, ok := got.(*appsv1.Deployment); ok {
			require.EqualValues(t, 3, *deployment.Spec.Replicas)
		}
	}
	unknown, err := Bounded("example.com")("no object")
	require.NoError(t, err)
	require.Equal(t, "no object", unknown)
}
