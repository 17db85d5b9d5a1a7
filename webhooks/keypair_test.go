package webhooks

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
)

func TestSecretSource(t *testing.T) {
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: "lintel-system", Name: "lintel-serving"},
		Data:       map[string][]byte{"tls.crt": []byte("a"), "tls.key": []byte("b"), "ca.crt": []byte("c")},
	}
	key := client.ObjectKeyFromObject(secret)
	files, err := Secret(fake.NewClientBuilder().WithObjects(secret).Build(), key)(t.Context())
	require.NoError(t, err)
	assert.Equal(t, KeyPairFiles{[]byte("a"), []byte("b"), []byte("c")}, files)
	_, err = Secret(fake.NewClientBuilder().Build(), key)(t.Context())
	assert.ErrorContains(t, err, "reading the serving certificate")
}

func TestDirectorySource(t *testing.T) {
	directory := t.TempDir()
	write := func(name, text string) {
		require.NoError(t, os.WriteFile(filepath.Join(directory, name), []byte(text), 0o600))
	}
	write("tls.crt", "a")
	_, err := Directory(directory)(t.Context())
	require.ErrorContains(t, err, "reading the serving certificate", "there is no key")
	write("tls.key", "b")
	files, err := Directory(directory)(t.Context())
	require.NoError(t, err)
	require.Equal(t, KeyPairFiles{Certificate: []byte("a"), Key: []byte("b")}, files, "the authority may be absent")
	require.NoError(t, os.Mkdir(filepath.Join(directory, "ca.crt"), 0o700))
	_, err = Directory(directory)(t.Context())
	require.ErrorContains(t, err, "reading the serving certificate", "but not unreadable")
}
