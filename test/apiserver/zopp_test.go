package apiserver

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	k8sadmission "k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/user"

	"github.com/lintel-policy/lintel/controllers/system"
	"github.com/lintel-policy/lintel/controllers/zopp"
)

// conditionsOfZopp are those of an entry.
func conditionsOfZopp(t *testing.T, entry string) []admissionregistrationv1.MatchCondition {
	t.Helper()
	products, err := zopp.Part().SetUp(context.Background(), system.Manager{}, false)
	require.NoError(t, err)
	for _, product := range products {
		if product.Entry == entry {
			return product.MatchConditions
		}
	}
	require.Fail(t, "no entry", entry)
	return nil
}

// calls asks the API server's own matcher.
func calls(t *testing.T, entry string, kind schema.GroupVersionKind, operation k8sadmission.Operation, object, old runtime.Object) bool {
	t.Helper()
	attributes := k8sadmission.NewAttributesRecord(object, old, kind, "shop", "app", kind.GroupVersion().WithResource("any"), "",
		operation, nil, false, &user.DefaultInfo{Name: "jane"})
	result := matcherOf(t, conditionsOfZopp(t, entry)).Match(t.Context(), &k8sadmission.VersionedAttributes{
		Attributes: attributes, VersionedKind: kind, VersionedObject: object, VersionedOldObject: old,
	}, nil, nil)
	require.NoError(t, result.Error)
	return result.Matches
}

// TestSecretsThatAskForNothingNeverCallOut, nor do writes that do not change the request, such
// as those of the controllers.
func TestSecretsThatAskForNothingNeverCallOut(t *testing.T) {
	secret := func(annotations ...string) *corev1.Secret {
		s := &corev1.Secret{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"}, ObjectMeta: metav1.ObjectMeta{Name: "app"}}
		for i := 0; i < len(annotations); i += 2 {
			metav1.SetMetaDataAnnotation(&s.ObjectMeta, "zopp.dev/"+annotations[i], annotations[i+1])
		}
		return s
	}
	with := func(s *corev1.Secret, change func(*corev1.Secret)) *corev1.Secret {
		change(s)
		return s
	}
	immutable := func(s *corev1.Secret) { s.Immutable = new(true) }
	synced := []string{"sync", "true", "sources", "acme/backend/production"}
	more := func(annotations ...string) *corev1.Secret {
		return secret(append(append([]string{}, synced...), annotations...)...)
	}
	for _, c := range []struct {
		name        string
		object, old runtime.Object
		called      bool
	}{
		{"another Secret", secret(), nil, false},
		{"an update of another", secret(), secret(), false},
		{"another with annotations", with(secret(), func(s *corev1.Secret) { s.Annotations = map[string]string{"a": "b"} }), secret(), false},
		{"one of zopp's command line", secret("workspace", "acme", "project", "backend", "environment", "production", "synced-at", "now", "synced-by", "jane"), nil, false},
		{"an update of one", secret("workspace", "acme", "synced-at", "later", "synced-by", "jane"), secret("workspace", "acme", "synced-at", "now", "synced-by", "jane"), false},
		{"one that forgot to ask", secret("workspace", "acme", "project", "backend", "environment", "production"), nil, true},
		{"one that names an environment alone", secret("environment", "production"), nil, true},
		{"an update of it", secret("workspace", "acme"), secret("workspace", "acme"), false},
		{"named later", secret("workspace", "acme"), secret(), true},
		{"named otherwise", secret("workspace", "acme"), secret("workspace", "other"), true},
		{"what else zopp may note", secret("synced-version", "4", "reload", "true"), nil, false},
		{"one that is immutable", with(secret(), immutable), nil, false},
		{"a new one", more(), nil, true},
		{"one whose value is wrong", secret("sync", "yes"), nil, true},
		{"annotated later", more(), secret(), true},
		{"an update", more(), more(), false},
		{"an update of values", with(more(), func(s *corev1.Secret) { s.Data = map[string][]byte{"a": []byte("b")} }), more(), false},
		{"what controllers note", more("status", "Denied", "message", "no", "synced-version", "4", "record", "{}"), more(), false},
		{"another source", secret("sync", "true", "sources", "acme/web/production"), more(), true},
		{"the other form", secret("sync", "true", "workspace", "acme"), more(), true},
		{"a filter", more("keys", "A"), more(), true},
		{"a filter that is gone", more(), more("keys", "A"), true},
		{"cleanup", more("cleanup", "true"), more(), true},
		{"synced again", more(), secret("sync", "false", "sources", "acme/backend/production"), true},
		{"synced no more", secret("sources", "acme/backend/production"), more(), false},
		{"one of the three, synced no more", secret("workspace", "acme"), secret("sync", "true", "workspace", "acme"), false},
		{"without annotations", secret(), more(), false},
		{"made immutable", with(more(), immutable), more(), true},
		{"immutable as it was", with(more(), immutable), with(more(), immutable), false},
		{"immutable is false", with(more(), func(s *corev1.Secret) { s.Immutable = new(false) }), more(), false},
		{"no object", nil, more(), false},
		{"neither", nil, nil, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			operation := k8sadmission.Create
			if c.old != nil {
				operation = k8sadmission.Update
			}
			if c.object == nil {
				operation = k8sadmission.Delete
			}
			assert.Equal(t, c.called, calls(t, "secrets.zopp.dev", corev1.SchemeGroupVersion.WithKind("Secret"), operation, c.object, c.old))
		})
	}
}

func TestZoppSecretSyncsCallOutWhenTheirSpecChanges(t *testing.T) {
	kind := schema.GroupVersionKind{Group: "zopp.dev", Version: "v1alpha1", Kind: "ZoppSecretSync"}
	sync := func(target string, finalizers ...string) *unstructured.Unstructured {
		u := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"target": map[string]any{"secretName": target}}}}
		u.SetFinalizers(finalizers)
		return u
	}
	called := func(operation k8sadmission.Operation, object, old runtime.Object) bool {
		return calls(t, "zoppsecretsyncs.zopp.dev", kind, operation, object, old)
	}
	assert.True(t, called(k8sadmission.Create, sync("a"), nil))
	assert.True(t, called(k8sadmission.Update, sync("a"), sync("b")))
	assert.True(t, called(k8sadmission.Update, &unstructured.Unstructured{Object: map[string]any{}}, sync("b")))
	assert.False(t, called(k8sadmission.Update, sync("a"), sync("a", "zopp.dev/cleanup")))
}

func TestZoppSecretSyncs(t *testing.T) {
	server := newServer(t, "zopp/zopp.dev_zoppsecretsyncs.yaml")
	object := server.admit(t, `
metadata: {name: app}
spec:
  source: {workspace: acme, project: backend, environment: production}
  target: {secretName: app}
`)
	spec := object["spec"].(map[string]any)
	assert.EqualValues(t, 60, spec["syncIntervalSeconds"])
	assert.Equal(t, "Opaque", spec["target"].(map[string]any)["secretType"])
}

func TestBadZoppSecretSyncs(t *testing.T) {
	server := newServer(t, "zopp/zopp.dev_zoppsecretsyncs.yaml")
	const source = "{workspace: acme, project: backend, environment: production}"
	for spec, says := range map[string]string{
		"{target: {secretName: app}}": "give exactly one of source and sources",
		"{target: {secretName: app}, source: " + source + ", sources: [" + source + "]}": "give exactly one of source and sources",
		"{target: {secretName: app}, sources: []}":                                       "should have at least 1 items",
		"{target: {secretName: app}, source: {workspace: acme, project: backend}}":       "spec.source.environment: Required value",
		"{source: " + source + "}":                                                       "spec.target: Required value",
		"{target: {secretName: ''}, source: " + source + "}":                             "spec.target.secretName",
		"{target: {secretName: app}, source: " + source + ", syncIntervalSeconds: 5}":    "should be greater than or equal to 10",
	} {
		assert.ErrorContains(t, server.validate(t, server.parse(t, "{metadata: {name: app}, spec: "+spec+"}")).ToAggregate(), says)
	}
}

func TestZoppSecretSyncSampleIsValid(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(configDir, "samples", "zopp", "zoppsecretsync.yaml"))
	require.NoError(t, err)
	newServer(t, "zopp/zopp.dev_zoppsecretsyncs.yaml").admit(t, string(text))
}
