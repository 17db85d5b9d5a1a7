package policy

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/lintel-policy/lintel/api/policy/v1alpha1"
	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/engine"
	"github.com/lintel-policy/lintel/policies/source"
)

func TestStoreAndLoad(t *testing.T) {
	object := makeSource(good)
	files := object.Spec.Inline.Files
	digest := definition.Source{Files: files}.Digest()
	wanted, err := artifactConfigMaps(object, files, "lintel-system")
	require.NoError(t, err)
	require.Equal(t, "lintel-team-"+definition.ShortRevision(digest)+"-0", wanted[0].Name)
	require.True(t, *wanted[0].Immutable)
	require.Equal(t, "PolicySource", wanted[0].OwnerReferences[0].Kind)

	c := fake.NewClientBuilder().Build()
	require.NoError(t, storeArtifact(t.Context(), c, wanted))
	again, err := artifactConfigMaps(object, files, "lintel-system")
	require.NoError(t, err)
	require.NoError(t, storeArtifact(t.Context(), c, again), "what is there is left alone")

	loaded, err := LoadArtifact(t.Context(), c, "lintel-system", "team", digest)
	require.NoError(t, err)
	require.Equal(t, files, loaded)
}

func TestStoreRefusesAForeignConfigMap(t *testing.T) {
	object := makeSource(good)
	wanted, err := artifactConfigMaps(object, object.Spec.Inline.Files, "lintel-system")
	require.NoError(t, err)
	foreign := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: wanted[0].Name, Namespace: "lintel-system"}, Data: map[string]string{"a": "b"}}
	c := fake.NewClientBuilder().WithObjects(foreign).Build()
	require.ErrorContains(t, storeArtifact(t.Context(), c, wanted), "holds something else than this artifact")
}

func TestLoadRefuses(t *testing.T) {
	object := makeSource(good)
	digest := definition.Source{Files: object.Spec.Inline.Files}.Digest()
	for name, c := range map[string]struct {
		change func(*corev1.ConfigMap)
		want   string
	}{
		"other content":  {func(m *corev1.ConfigMap) { m.BinaryData[chunkKey] = []byte("x") }, "unpacking the artifact"},
		"a chunk absent": {func(m *corev1.ConfigMap) { m.Annotations[chunksAnnotation] = "2" }, "not found"},
		"no count":       {func(m *corev1.ConfigMap) { m.Annotations = nil }, "invalid number of chunks"},
		"another digest": {func(m *corev1.ConfigMap) {
			others, err := artifactConfigMaps(makeSource("package other"), map[string]string{"p.rego": "package other"}, "lintel-system")
			require.NoError(t, err)
			m.BinaryData = others[0].BinaryData
		}, "the artifact holds sha256:"},
	} {
		t.Run(name, func(t *testing.T) {
			stored, err := artifactConfigMaps(object, object.Spec.Inline.Files, "lintel-system")
			require.NoError(t, err)
			c.change(stored[0])
			_, err = LoadArtifact(t.Context(), fake.NewClientBuilder().WithObjects(stored[0]).Build(), "lintel-system", "team", digest)
			require.ErrorContains(t, err, c.want)
		})
	}
}

func TestSurplusKeepsTheLiveAndTheNewestBefore(t *testing.T) {
	now := time.Now()
	made := func(digest string, age time.Duration) corev1.ConfigMap {
		return corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
			Name: digest, Annotations: map[string]string{digestAnnotation: digest}, CreationTimestamp: metav1.NewTime(now.Add(-age)),
		}}
	}
	all := []corev1.ConfigMap{made("live", 5*time.Hour), made("oldest", 9*time.Hour), made("newest", time.Hour), made("newest", time.Hour), made("older", 2*time.Hour)}
	var names []string
	for _, object := range surplus(all, "live") {
		names = append(names, object.Name)
	}
	require.ElementsMatch(t, []string{"oldest", "older"}, names, "the live one stays even when it is old: a revision may come back")
}

// TestTheLastGoodFilesOfAPartialSource: a leader that has not loaded a source yet reads the files in
// force from its artifact. Without the artifact, no file may be left out.
func TestTheLastGoodFilesOfAPartialSource(t *testing.T) {
	t.Parallel()
	object := makeSource(good, func(object *v1alpha1.PolicySource) { object.Spec.Partial = true })
	files := object.Spec.Inline.Files
	stored, err := artifactConfigMaps(object, files, "lintel-system")
	require.NoError(t, err)
	for name, c := range map[string]struct {
		digest  string
		stored  bool
		want    map[string]string
		partial bool
	}{
		"nothing was in force":    {"", false, nil, true},
		"in force":                {definition.Source{Files: files}.Digest(), true, files, true},
		"the artifact is deleted": {definition.Source{Files: files}.Digest(), false, nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			object, builder := object.DeepCopy(), fake.NewClientBuilder()
			if object.Status.Digest = c.digest; c.stored {
				builder = builder.WithObjects(stored[0].DeepCopy())
			}
			r := &reconciler{client: builder.Build(), live: engine.NewLive(admission.BuiltinResources()), namespace: "lintel-system"}
			candidate := source.FromPolicySource(object, files, "")
			found, err := r.lastGood(t.Context(), object, &candidate)
			require.NoError(t, err)
			require.Equal(t, c.want, found)
			require.Equal(t, c.partial, candidate.Partial)
		})
	}
}
