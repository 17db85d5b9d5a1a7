package openclaw

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/lru"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	v1 "github.com/lintel-policy/lintel/api/openclaw/v1"
)

// counted counts reads of whole Secrets.
type counted struct {
	client.Reader
	reads int
}

func (c *counted) Get(ctx context.Context, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
	c.reads++
	return c.Reader.Get(ctx, key, object, options...)
}

func TestSecretsHash(t *testing.T) {
	secret := func(name, key, value string) *corev1.Secret {
		return &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: "openclaw-enterprise", Name: name, UID: types.UID(name)},
			Data:       map[string][]byte{key: []byte(value)},
		}
	}
	c := fake.NewClientBuilder().WithObjects(
		secret("openclaw-sso-secret", "client-secret", "s"), secret("openclaw-postgres-secret", "connection-string", "p"),
		secret("openclaw-redis-secret", "connection-string", "r")).Build()
	live := &counted{Reader: c}
	s := &secrets{cached: c, live: live, hashes: lru.New(maxSecretHashes)}
	instance := sampleInstance(t)
	// Objects older than the schema's defaults have no keys.
	instance.Spec.Auth.ClientSecretRef.Key = ""
	hash := func() string {
		got, err := s.hash(t.Context(), instance)
		require.NoError(t, err)
		return got
	}
	change := func(edit func(*corev1.Secret)) {
		object := &corev1.Secret{}
		require.NoError(t, c.Get(t.Context(), client.ObjectKey{Namespace: "openclaw-enterprise", Name: "openclaw-redis-secret"}, object))
		edit(object)
		require.NoError(t, c.Update(t.Context(), object))
	}
	first := hash()
	require.Equal(t, first, hash())
	require.Equal(t, 3, live.reads, "what has not changed is not read again")

	change(func(o *corev1.Secret) { o.Labels = map[string]string{"a": "b"}; o.Data["another"] = []byte("x") })
	require.Equal(t, first, hash(), "only what is referenced counts")
	require.Equal(t, 4, live.reads)
	change(func(o *corev1.Secret) { o.Data["connection-string"] = []byte("r2") })
	require.NotEqual(t, first, hash())

	for name, c := range map[string]struct {
		change          func(*v1.OpenClawInstance)
		reason, message string
	}{
		"no Secret": {func(i *v1.OpenClawInstance) { i.Spec.Storage.RedisSecretRef.Name = "gone" }, ReasonSecretNotFound,
			"Secret gone does not exist in namespace openclaw-enterprise; create it with key connection-string, for spec.storage.redisSecretRef"},
		"no key": {func(i *v1.OpenClawInstance) { i.Spec.Storage.RedisSecretRef.Key = "url" }, ReasonSecretKeyNotFound,
			"Secret openclaw-redis-secret has no key url, for spec.storage.redisSecretRef; add it"},
	} {
		broken := instance.DeepCopy()
		c.change(broken)
		_, err := s.hash(t.Context(), broken)
		var p *problem
		require.ErrorAs(t, err, &p, name)
		require.Equal(t, problem{c.reason, c.message}, *p, name)
	}
}
