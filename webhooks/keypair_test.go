package webhooks

import (
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
