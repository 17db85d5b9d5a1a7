package zopp

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	v1alpha1 "github.com/lintel-policy/lintel/api/zopp/v1alpha1"
	"github.com/lintel-policy/lintel/policies/rules"
)

func readSample(t *testing.T, path string, into any) {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NoError(t, yaml.UnmarshalStrict(text, into))
}

// TestSamplesAreAdmitted uses the stricter mode, with only the permissions of the sample
// Namespace.
func TestSamplesAreAdmitted(t *testing.T) {
	const folder = "../../../config/samples/zopp"
	var namespace corev1.Namespace
	readSample(t, filepath.Join(folder, "00-namespace.yaml"), &namespace)
	paths, err := filepath.Glob(filepath.Join(folder, "*.yaml"))
	require.NoError(t, err)
	snapshot, asked := newRules(t), 0
	for _, path := range paths {
		question := func(permitted map[string]string) rules.Question {
			var kind metav1.TypeMeta
			text, err := os.ReadFile(path)
			require.NoError(t, err)
			require.NoError(t, yaml.Unmarshal(text, &kind))
			switch kind.Kind {
			case "Secret":
				var secret corev1.Secret
				readSample(t, path, &secret)
				secret.UID = "u"
				return SecretQuestion(&secret, SecretFacts(secret.Annotations, Restricted), namespaceWith(t, permitted))
			case "ZoppSecretSync":
				var sync v1alpha1.ZoppSecretSync
				readSample(t, path, &sync)
				sync.UID = "u"
				return SyncQuestion(&sync, SyncFacts(&sync, Restricted), namespaceWith(t, permitted))
			}
			return rules.Question{}
		}
		if question(nil).Object == nil {
			continue
		}
		asked++
		require.Empty(t, words(decisionOn(t, snapshot, question(namespace.Annotations)).Denials), path)
		require.NotEmpty(t, words(decisionOn(t, snapshot, question(nil)).Denials), path)
	}
	require.Equal(t, 3, asked)
}
