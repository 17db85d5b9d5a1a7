package openvox

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
			a := &admitter{direct: accessOf(t, c.allowed, &asked)}
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

// accessOf is an API server where ann has some permissions, which counts how often it is asked.
func accessOf(t *testing.T, permissions []string, asked *int, objects ...client.Object) client.WithWatch {
	t.Helper()
	scheme := runtime.NewScheme()
	require.NoError(t, authorizationv1.AddToScheme(scheme))
	require.NoError(t, corev1.AddToScheme(scheme))
	return fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).WithInterceptorFuncs(interceptor.Funcs{
		Create: func(_ context.Context, _ client.WithWatch, object client.Object, _ ...client.CreateOption) error {
			review := object.(*authorizationv1.SubjectAccessReview)
			*asked++
			require.Equal(t, "ann", review.Spec.User)
			access := review.Spec.ResourceAttributes
			require.Equal(t, "ns", access.Namespace)
			for _, allowed := range permissions {
				review.Status.Allowed = review.Status.Allowed || allowed == access.Verb+" "+access.Resource+" "+access.Name
			}
			return nil
		},
	}).Build()
}

// TestNoSecretIsProbed: the answer to a user without permissions does not depend on whether a
// Secret or claim exists.
func TestNoSecretIsProbed(t *testing.T) {
	t.Parallel()
	spec := v1alpha1.ServerSpec{
		ConfigRef: "c", CertificateRef: "s",
		EnvFrom:      []corev1.EnvFromSource{{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "token"}}}},
		ExtraVolumes: []v1alpha1.ExtraVolume{{Name: "data", PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "old-data"}}},
	}
	token := openvoxtest.MakeSecret("token", nil)
	token.Type = corev1.SecretTypeServiceAccountToken
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "old-data", Labels: map[string]string{"openvox.voxpupuli.org/certificateauthority": "old"}}}
	facts := func(permissions []string, objects ...client.Object) any {
		asked := 0
		a := &admitter{cached: openvoxtest.NewClient(t), direct: accessOf(t, permissions, &asked, objects...)}
		found, err := a.serverFacts(t.Context(), serverReview(t, nil, &spec))
		require.NoError(t, err)
		return found
	}
	require.Equal(t, facts(nil), facts(nil, token, claim))
	known := facts([]string{"create pods "}, token, claim).(rules.ServerFacts)
	require.Contains(t, known.ProtectedSecrets, "token")
	require.Equal(t, []string{"old-data"}, known.AuthorityClaims)
}

// TestConfigsRunPrograms: a user who changes the programs of a Config needs the permission to read
// what its Servers add to their Pods.
func TestConfigsRunPrograms(t *testing.T) {
	t.Parallel()
	server := openvoxtest.MakeServer("catalogs")
	server.Spec.EnvFrom = []corev1.EnvFromSource{
		{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "token"}}},
		{ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "map"}}},
	}
	server.Spec.ExtraVolumes = []v1alpha1.ExtraVolume{{Name: "data", PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "claim"}}}
	elsewhere := server.DeepCopy()
	elsewhere.Name, elsewhere.Spec.ConfigRef = "elsewhere", "other"
	all := []rules.UnreadableObject{{Kind: "Secret", Name: "token", Server: "catalogs"}, {Kind: "ConfigMap", Name: "map", Server: "catalogs"}, {Kind: "PersistentVolumeClaim", Name: "claim", Server: "catalogs"}}
	for name, c := range map[string]struct {
		created     bool
		change      func(*v1alpha1.ConfigSpec)
		permissions []string
		want        []rules.UnreadableObject
	}{
		"created":          {created: true, want: all},
		"another image":    {change: func(c *v1alpha1.ConfigSpec) { c.Image.Tag = "mine" }, want: all},
		"other code":       {change: func(c *v1alpha1.ConfigSpec) { c.Code.List = []v1alpha1.CodeSource{{Image: "mine"}} }, want: all},
		"a program":        {change: func(c *v1alpha1.ConfigSpec) { c.Puppet.ExternalNodesCommand = "/mine" }, want: all},
		"a level of logs":  {change: func(c *v1alpha1.ConfigSpec) { c.Logging.Level = "DEBUG" }},
		"creates Pods":     {change: func(c *v1alpha1.ConfigSpec) { c.Image.Tag = "mine" }, permissions: []string{"create pods "}},
		"reads the Secret": {change: func(c *v1alpha1.ConfigSpec) { c.Image.Tag = "mine" }, permissions: []string{"get secrets token"}, want: all[1:]},
	} {
		asked := 0
		a := &admitter{cached: openvoxtest.NewClient(t, server, elsewhere), direct: accessOf(t, c.permissions, &asked)}
		before, after := openvoxtest.MakeConfig("main"), openvoxtest.MakeConfig("main")
		if c.change != nil {
			c.change(&after.Spec)
		}
		object := func(config *v1alpha1.Config) any {
			config.APIVersion, config.Kind = v1alpha1.SchemeGroupVersion.String(), "Config"
			return config
		}
		if c.created {
			before = nil
		}
		review := reviewOf(t, "Config", "configs", "c", before != nil, func() any { return object(before) }, object(after))
		found, err := a.configFacts(t.Context(), review)
		require.NoError(t, err)
		require.Equal(t, rules.ConfigFacts{Unreadable: c.want}, found, name)
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
	return reviewOf(t, "Server", "servers", "catalogs", before != nil, func() any { return object(before) }, object(after))
}

// reviewOf is the request to store an object, which exists if it is updated.
func reviewOf(t *testing.T, kind, resource, name string, updated bool, before func() any, after any) *admission.Review {
	t.Helper()
	request := map[string]any{
		"uid": "1", "operation": "CREATE", "namespace": "ns", "name": name, "userInfo": map[string]any{"username": "ann"},
		"kind":     map[string]any{"group": v1alpha1.GroupName, "version": "v1alpha1", "kind": kind},
		"resource": map[string]any{"group": v1alpha1.GroupName, "version": "v1alpha1", "resource": resource},
		"object":   after,
	}
	if updated {
		request["operation"], request["oldObject"] = "UPDATE", before()
	}
	text, err := json.Marshal(map[string]any{"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request})
	require.NoError(t, err)
	review, err := admission.DecodeReview(text)
	require.NoError(t, err)
	return review
}
