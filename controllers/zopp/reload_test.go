package zopp

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1alpha1 "github.com/lintel-policy/lintel/api/zopp/v1alpha1"
)

// using are the ways in which Pods use a Secret.
var using = map[string]corev1.PodSpec{
	"a volume": {Volumes: []corev1.Volume{{VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "app-secrets"}}}}},
	"a projected volume": {Volumes: []corev1.Volume{{VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{
		{}, {Secret: &corev1.SecretProjection{LocalObjectReference: corev1.LocalObjectReference{Name: "app-secrets"}}}}}}}}},
	"env":                     {Containers: []corev1.Container{{Env: fromKey}}},
	"envFrom":                 {Containers: []corev1.Container{{EnvFrom: fromAll}}},
	"env of an init":          {InitContainers: []corev1.Container{{Env: fromKey}}},
	"envFrom of an init":      {InitContainers: []corev1.Container{{EnvFrom: fromAll}}},
	"env of an ephemeral":     {EphemeralContainers: []corev1.EphemeralContainer{{EphemeralContainerCommon: corev1.EphemeralContainerCommon{Env: fromKey}}}},
	"envFrom of an ephemeral": {EphemeralContainers: []corev1.EphemeralContainer{{EphemeralContainerCommon: corev1.EphemeralContainerCommon{EnvFrom: fromAll}}}},
	"imagePullSecrets":        {ImagePullSecrets: []corev1.LocalObjectReference{{Name: "app-secrets"}}},
}

var (
	local   = corev1.LocalObjectReference{Name: "app-secrets"}
	fromKey = []corev1.EnvVar{{Name: "A"}, {Name: "B", ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{LocalObjectReference: local, Key: "KEY"}}}}
	fromAll = []corev1.EnvFromSource{{}, {SecretRef: &corev1.SecretEnvSource{LocalObjectReference: local}}}
)

func TestSecretsOfTemplates(t *testing.T) {
	for name, spec := range using {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, []string{"app-secrets"}, referencedSecrets(&corev1.PodTemplateSpec{Spec: spec}).UnsortedList())
		})
	}
	require.Empty(t, referencedSecrets(&corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "app-secrets"}}}}))
}

func TestDue(t *testing.T) {
	for name, c := range map[string]struct {
		has, changes, next appliedChanges
		rolls              []string
	}{
		"first sight":         {nil, appliedChanges{"a": 1}, appliedChanges{"a": 1}, nil},
		"nothing new":         {appliedChanges{"a": 1}, appliedChanges{"a": 1}, appliedChanges{"a": 1}, nil},
		"a change":            {appliedChanges{"a": 1}, appliedChanges{"a": 2}, appliedChanges{"a": 2}, []string{"a"}},
		"one from before":     {appliedChanges{"a": 2}, appliedChanges{"a": 1}, appliedChanges{"a": 1}, []string{"a"}},
		"two at once":         {appliedChanges{"a": 1, "b": 1}, appliedChanges{"a": 2, "b": 3}, appliedChanges{"a": 2, "b": 3}, []string{"a", "b"}},
		"another's":           {appliedChanges{"a": 1}, appliedChanges{"a": 1, "unused": 2}, appliedChanges{"a": 1}, nil},
		"used no more":        {appliedChanges{"a": 1, "unused": 1}, appliedChanges{"a": 1, "unused": 2}, appliedChanges{"a": 1}, nil},
		"synced no more":      {appliedChanges{"a": 1}, appliedChanges{}, appliedChanges{"a": 1}, nil},
		"never filled before": {appliedChanges{"a": 0}, appliedChanges{"a": 1}, appliedChanges{"a": 1}, []string{"a"}},
	} {
		t.Run(name, func(t *testing.T) {
			next, rolls := due(c.has, c.changes, func(secret string) bool { return secret != "unused" })
			require.Equal(t, c.next, next)
			require.Equal(t, c.rolls, rolls)
		})
	}
}

// deploymentOf uses the Secret in one way.
func deploymentOf(name string, spec corev1.PodSpec, annotations values) *appsv1.Deployment {
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, Annotations: annotations},
		Spec:       appsv1.DeploymentSpec{Template: corev1.PodTemplateSpec{Spec: spec}},
	}
}

var reloading = values{v1alpha1.ReloadAnnotation: "true"}

func (d *desk) reload() {
	d.t.Helper()
	_, err := d.reloads.Reconcile(d.t.Context(), reconcile.Request{NamespacedName: client.ObjectKey{Name: "default"}})
	require.NoError(d.t, err)
}

// rolled is when a Deployment was rolled: "" where it never was.
func (d *desk) rolled(name string) string {
	d.t.Helper()
	deployment := &appsv1.Deployment{}
	require.NoError(d.t, d.client.Get(d.t.Context(), client.ObjectKey{Namespace: "default", Name: name}, deployment))
	return deployment.Spec.Template.Annotations[v1alpha1.RestartedAtAnnotation]
}

func (d *desk) rolls() float64 {
	return testutil.ToFloat64(d.metrics.reloads.WithLabelValues("Deployment"))
}

// Defect D5: the stream and the poll share one count of changes, and restart once for each.
func TestReloadRollsOnceForEachChange(t *testing.T) {
	d := newDesk(t, appSecret(), deploymentOf("app", using["envFrom"], reloading),
		deploymentOf("unasked", using["envFrom"], nil), deploymentOf("unconcerned", corev1.PodSpec{}, reloading))
	d.server.set(backend, "KEY", "one")
	d.sync()
	d.reload()
	first := d.rolled("app")
	require.NotEmpty(t, first, "its Pods have started with an empty Secret")
	d.reload()
	d.server.set(backend, "KEY", "one")
	d.sync()
	d.reload()
	require.Equal(t, first, d.rolled("app"))
	d.server.set(backend, "KEY", "two")
	d.sync()
	d.reload()
	require.NotEqual(t, first, d.rolled("app"))
	require.Equal(t, 2.0, d.rolls())
	require.Empty(t, d.rolled("unasked"))
	require.Empty(t, d.rolled("unconcerned"))
}

// A crash neither loses nor repeats a restart.
func TestReloadAfterACrash(t *testing.T) {
	d := newDesk(t, appSecret())
	d.server.set(backend, "KEY", "one")
	d.sync()
	d.reload()
	require.NoError(t, d.client.Create(t.Context(), deploymentOf("app", using["a volume"], reloading)))
	d.server.set(backend, "KEY", "two")
	d.sync() // and it ends before the roll

	d.secretReconciler = d.replica()
	d.sync()
	d.reload()
	require.NotEmpty(t, d.rolled("app"))
	require.Equal(t, 1.0, d.rolls())
	d.secretReconciler = d.replica()
	d.sync()
	d.reload()
	require.Zero(t, d.rolls())
}

func TestReloadIsNotForAWorkloadThatIsNew(t *testing.T) {
	d := newDesk(t, appSecret())
	d.server.set(backend, "KEY", "one")
	d.sync()
	require.NoError(t, d.client.Create(t.Context(), deploymentOf("app", using["env"], reloading)))
	d.reload()
	require.Empty(t, d.rolled("app"))
	d.server.set(backend, "KEY", "two")
	d.sync()
	d.reload()
	require.NotEmpty(t, d.rolled("app"))
}

func TestReloadIsNotForWhatAUserChanges(t *testing.T) {
	d := newDesk(t, appSecret(), deploymentOf("app", using["env"], reloading))
	d.server.set(backend, "KEY", "one")
	d.sync()
	d.reload()
	d.edit(func(s *corev1.Secret) { s.Data["KEY"] = []byte("by hand") })
	d.sync()
	d.reload()
	require.Equal(t, 1.0, d.rolls())
}

// A user who may edit a Secret cannot restart workloads by changing the controllers' record on
// it, nor by writing such a record on a Secret that is not synced.
func TestReloadIsNotForARecordThatAUserWrites(t *testing.T) {
	d := newDesk(t, appSecret(), deploymentOf("app", using["env"], reloading))
	d.server.set(backend, "KEY", "one")
	d.sync()
	d.reload()
	rolled, record := d.rolled("app"), d.secret().Annotations[recordAnnotation]
	for _, written := range []string{`{"changed":1}`, strings.Replace(record, `"changed":`, `"changed":1`, 1), "", "{"} {
		d.edit(func(s *corev1.Secret) { s.Annotations[recordAnnotation] = written })
		d.reload()
		d.sync()
		d.reload()
		require.Equal(t, rolled, d.rolled("app"), written)
		require.Equal(t, readRecord(values{recordAnnotation: record}).Changed, readRecord(d.secret().Annotations).Changed, written)
	}
	d.edit(func(s *corev1.Secret) {
		s.Annotations[recordAnnotation], s.Data["KEY"] = `{"changed":1}`, []byte("by hand")
	})
	d.sync()
	d.reload()
	require.Equal(t, rolled, d.rolled("app"))
	d.server.set(backend, "KEY", "two")
	d.sync()
	d.reload()
	require.NotEqual(t, rolled, d.rolled("app"))
	require.Equal(t, 2.0, d.rolls())

	d.edit(func(s *corev1.Secret) { delete(s.Annotations, v1alpha1.SyncAnnotation) })
	d.sync()
	d.edit(func(s *corev1.Secret) { s.Annotations[recordAnnotation] = `{"changed":1}` })
	d.sync()
	d.reload()
	require.Equal(t, 2.0, d.rolls())
}

func TestReloadByTwoReplicas(t *testing.T) {
	d := newDesk(t, appSecret(), deploymentOf("app", using["env"], reloading))
	d.server.set(backend, "KEY", "one")
	d.sync()
	other := d.replica()
	other.reloads.observe(t.Context(), appSecretsKey, readRecord(d.secret().Annotations).Changed)
	d.before = func() { // the other replica is first
		_, err := other.reloads.Reconcile(t.Context(), reconcile.Request{NamespacedName: client.ObjectKey{Name: "default"}})
		require.NoError(t, err)
	}
	result, err := d.reloads.Reconcile(t.Context(), reconcile.Request{NamespacedName: client.ObjectKey{Name: "default"}})
	require.NoError(t, err)
	require.NotZero(t, result.RequeueAfter)
	rolled := d.rolled("app")
	d.reload()
	require.Equal(t, rolled, d.rolled("app"))
	require.Zero(t, d.rolls())
}

// The role for workloads is optional: without it Secrets are filled all the same.
func TestReloadWithoutPermission(t *testing.T) {
	d := newDesk(t, appSecret(), deploymentOf("app", using["env"], reloading))
	allowed := d.client
	forbidding := interceptor.NewClient(allowed.(client.WithWatch), interceptor.Funcs{
		List: func(_ context.Context, _ client.WithWatch, list client.ObjectList, _ ...client.ListOption) error {
			return apierrors.NewForbidden(appsv1.Resource("deployments"), "", nil)
		},
	})
	d.reloads.live = forbidding
	d.server.set(backend, "KEY", "one")
	d.sync()
	d.reload()
	require.Equal(t, values{"KEY": "one"}, d.data())
	require.Empty(t, d.rolled("app"))
}

func TestReloadOfEveryKind(t *testing.T) {
	meta := metav1.ObjectMeta{Namespace: "default", Name: "app", Annotations: reloading}
	template := corev1.PodTemplateSpec{Spec: using["env"]}
	d := newDesk(t, appSecret(), &appsv1.Deployment{ObjectMeta: meta, Spec: appsv1.DeploymentSpec{Template: template}},
		&appsv1.StatefulSet{ObjectMeta: meta, Spec: appsv1.StatefulSetSpec{Template: template}}, &appsv1.DaemonSet{ObjectMeta: meta, Spec: appsv1.DaemonSetSpec{Template: template}})
	d.server.set(backend, "KEY", "one")
	d.sync()
	d.reload()
	for _, kind := range workloads {
		o := kind.empty()
		require.NoError(t, d.client.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: "app"}, o))
		at, err := time.Parse(time.RFC3339Nano, kind.template(o).Annotations[v1alpha1.RestartedAtAnnotation])
		require.NoError(t, err, kind.kind.Kind)
		require.WithinDuration(t, time.Now(), at, time.Minute)
		require.Equal(t, readRecord(d.secret().Annotations).Changed, appliedChangesOf(o)["app-secrets"])
		require.Equal(t, 1.0, testutil.ToFloat64(d.metrics.reloads.WithLabelValues(kind.kind.Kind)))
	}
}
