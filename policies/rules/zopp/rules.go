// Package zopp contains the rules for Secrets that are synced from zopp, and for
// ZoppSecretSyncs: valid requests, read access to sources, and the owner of each Secret.
//
// Invariant: a source is read only where the Namespace of the object permits it, and the
// Namespace of the Secret too, if it is a different one.
package zopp

import (
	"embed"
	"encoding/json"
	"maps"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/lintel-policy/lintel/api/zopp/v1alpha1"
	"github.com/lintel-policy/lintel/policies/engine"
	"github.com/lintel-policy/lintel/policies/rules"
)

//go:embed *.rego
var files embed.FS

// New compiles the rules.
func New() (*engine.Snapshot, error) { return rules.Snapshot("zopp", files, nil) }

// SecretQuestion returns the input for a stored Secret, without its values. namespace is its
// Namespace in JSON.
func SecretQuestion(secret *corev1.Secret, facts Facts, namespace json.RawMessage) rules.Question {
	kind := corev1.SchemeGroupVersion.WithKind("Secret")
	asked := &corev1.Secret{Immutable: secret.Immutable}
	asked.SetGroupVersionKind(kind)
	asked.Name, asked.Namespace, asked.UID = secret.Name, secret.Namespace, secret.UID
	asked.Annotations = maps.Clone(secret.Annotations)
	// kubectl's last-applied annotation contains the values.
	maps.DeleteFunc(asked.Annotations, func(name, _ string) bool { return !strings.HasPrefix(name, v1alpha1.GroupName+"/") })
	return rules.Question{
		Kind: metav1.GroupVersionKind(kind), Resource: "secrets",
		Object: asked, Facts: facts, Namespace: namespace,
	}
}

// SyncQuestion returns the input for a stored ZoppSecretSync. namespace is its Namespace in
// JSON.
func SyncQuestion(sync *v1alpha1.ZoppSecretSync, facts Facts, namespace json.RawMessage) rules.Question {
	kind := v1alpha1.SchemeGroupVersion.WithKind("ZoppSecretSync")
	sync = sync.DeepCopy()
	sync.SetGroupVersionKind(kind)
	return rules.Question{
		Kind: metav1.GroupVersionKind(kind), Resource: "zoppsecretsyncs",
		Object: sync, Facts: facts, Namespace: namespace,
	}
}
