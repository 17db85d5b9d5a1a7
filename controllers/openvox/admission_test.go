package openvox

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	v1alpha1 "github.com/lintel-policy/lintel/api/openvox/v1alpha1"
	"github.com/lintel-policy/lintel/controllers/openvox/openvoxtest"
	"github.com/lintel-policy/lintel/policies/admission"
	rules "github.com/lintel-policy/lintel/policies/rules/openvox"
)

// TestWhatRequestersMayHaveInPods: a user who changes what a Server's Pods read, or what reads it, needs
// the permission to read it.
func TestWhatRequestersMayHaveInPods(t *testing.T) {
	t.Parallel()
	named := func(name string) corev1.LocalObjectReference { return corev1.LocalObjectReference{Name: name} }
	key := corev1.EnvVar{Name: "A", ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{LocalObjectReference: named("token"), Key: "k"}}}
	all := v1alpha1.ServerSpec{
		ConfigRef: "c", CertificateRef: "s", ExtraEnv: []corev1.EnvVar{key},
		EnvFrom: []corev1.EnvFromSource{{ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: named("map")}}},
		ExtraVolumes: []v1alpha1.ExtraVolume{
			{Name: "data", PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "claim"}},
			{Name: "all", Projected: &v1alpha1.ExtraProjection{Sources: []v1alpha1.ExtraSource{
				{Secret: &corev1.SecretProjection{LocalObjectReference: named("token"), Items: []corev1.KeyToPath{{Key: "k", Path: "k"}}}},
				{ConfigMap: &corev1.ConfigMapProjection{LocalObjectReference: named("files")}},
			}}},
			{Name: "map", ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: named("files")}},
		},
	}
	everything := rules.Unreadable{Secrets: []string{"token"}, ConfigMaps: []string{"files", "map"}, Claims: []string{"claim"}}
	for name, c := range map[string]struct {
		before  *v1alpha1.ServerSpec
		change  func(*v1alpha1.ServerSpec)
		allowed []string
		want    rules.Unreadable
		asked   int
	}{
		"created":          {nil, nil, nil, everything, 4},
		"creates Pods":     {nil, nil, []string{"create pods "}, rules.Unreadable{}, 1},
		"gets all":         {nil, nil, []string{"get secrets token", "get configmaps files", "get configmaps map"}, rules.Unreadable{Claims: []string{"claim"}}, 4},
		"unchanged":        {&all, nil, nil, rules.Unreadable{}, 0},
		"more replicas":    {&all, func(s *v1alpha1.ServerSpec) { s.Replicas = new(int32(7)) }, nil, rules.Unreadable{}, 0},
		"a reference less": {&all, func(s *v1alpha1.ServerSpec) { s.EnvFrom = nil }, nil, rules.Unreadable{}, 0},
		"another image":    {&all, func(s *v1alpha1.ServerSpec) { s.Image.Repository = "mine" }, nil, everything, 4},
		"other code":       {&all, func(s *v1alpha1.ServerSpec) { s.Code.List = []v1alpha1.CodeSource{{Image: "mine"}} }, nil, everything, 4},
		"a variable": {&all, func(s *v1alpha1.ServerSpec) {
			s.ExtraEnv = append(s.ExtraEnv, corev1.EnvVar{Name: "RUBYOPT", Value: "-r/a"})
		}, nil, everything, 4},
		"a mount": {&all, func(s *v1alpha1.ServerSpec) {
			s.ExtraVolumeMounts = []corev1.VolumeMount{{Name: "all", MountPath: "/a"}}
		}, nil, everything, 4},
		"another Config":         {&all, func(s *v1alpha1.ServerSpec) { s.ConfigRef = "mine" }, nil, everything, 4},
		"another key":            {&all, func(s *v1alpha1.ServerSpec) { s.ExtraEnv[0].ValueFrom.SecretKeyRef.Key = "other" }, nil, rules.Unreadable{Secrets: []string{"token"}}, 2},
		"all keys of the Secret": {&all, func(s *v1alpha1.ServerSpec) { s.ExtraVolumes[1].Projected.Sources[0].Secret.Items = nil }, nil, rules.Unreadable{Secrets: []string{"token"}}, 2},
		"the whole Secret, as well": {&all, func(s *v1alpha1.ServerSpec) {
			s.ExtraVolumes = append(s.ExtraVolumes, v1alpha1.ExtraVolume{Name: "b", Secret: &corev1.SecretVolumeSource{SecretName: "token"}})
		}, nil, rules.Unreadable{Secrets: []string{"token"}}, 2},
		"a second Secret": {&all, func(s *v1alpha1.ServerSpec) {
			s.EnvFrom = append(s.EnvFrom, corev1.EnvFromSource{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: named("other")}})
		}, []string{"get secrets token"}, rules.Unreadable{Secrets: []string{"other"}}, 2},
		"more than are allowed": {nil, func(s *v1alpha1.ServerSpec) {
			for i := range rules.MostReferences {
				s.EnvFrom = append(s.EnvFrom, corev1.EnvFromSource{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: named(string(rune('A' + i)))}})
			}
		}, nil, rules.Unreadable{}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			asked := 0
			scheme := runtime.NewScheme()
			require.NoError(t, authorizationv1.AddToScheme(scheme))
			a := &admitter{direct: fake.NewClientBuilder().WithScheme(scheme).WithInterceptorFuncs(interceptor.Funcs{
				Create: func(_ context.Context, _ client.WithWatch, object client.Object, _ ...client.CreateOption) error {
					review := object.(*authorizationv1.SubjectAccessReview)
					asked++
					require.Equal(t, "ann", review.Spec.User)
					access := review.Spec.ResourceAttributes
					require.Equal(t, "ns", access.Namespace)
					for _, allowed := range c.allowed {
						review.Status.Allowed = review.Status.Allowed || allowed == access.Verb+" "+access.Resource+" "+access.Name
					}
					return nil
				},
			}).Build()}
			after := all.DeepCopy()
			if c.change != nil {
				c.change(after)
			}
			unreadable, err := a.unreadable(t.Context(), serverReview(t, c.before, after), after)
			require.NoError(t, err)
			require.Equal(t, c.want, unreadable)
			require.Equal(t, c.asked, asked)
		})
	}
}

// serverReview is the request to store a Server: to create it if before is nil.
func serverReview(t *testing.T, before, after *v1alpha1.ServerSpec) *admission.Review {
	t.Helper()
	object := func(spec *v1alpha1.ServerSpec) any {
		server := openvoxtest.MakeServer("catalogs")
		server.APIVersion, server.Kind, server.Spec = v1alpha1.SchemeGroupVersion.String(), "Server", *spec
		return server
	}
	request := map[string]any{
		"uid": "1", "operation": "CREATE", "namespace": "ns", "name": "catalogs", "userInfo": map[string]any{"username": "ann"},
		"kind":     map[string]any{"group": v1alpha1.GroupName, "version": "v1alpha1", "kind": "Server"},
		"resource": map[string]any{"group": v1alpha1.GroupName, "version": "v1alpha1", "resource": "servers"},
		"object":   object(after),
	}
	if before != nil {
		request["operation"], request["oldObject"] = "UPDATE", object(before)
	}
	text, err := json.Marshal(map[string]any{"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request})
	require.NoError(t, err)
	review, err := admission.DecodeReview(text)
	require.NoError(t, err)
	return review
}
