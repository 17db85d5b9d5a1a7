package openclaw

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/lru"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/lintel-policy/lintel/api/openclaw/v1"
	"github.com/lintel-policy/lintel/controllers/object"
)

// The reasons why a gateway's Secrets cannot be used.
const (
	ReasonSecretNotFound    = "SecretNotFound"
	ReasonSecretKeyNotFound = "SecretKeyNotFound"
)

// secretReference is a key of a Secret that a gateway reads into a variable.
type secretReference struct{ field, variable, name, key string }

func listSecretReferences(instance *v1.OpenClawInstance) []secretReference {
	auth, storage := instance.Spec.Auth, instance.Spec.Storage
	// Objects that are older than the defaults of the schema have empty keys.
	return []secretReference{
		{"spec.auth.clientSecretRef", "SSO_CLIENT_SECRET", auth.ClientSecretRef.Name, cmp.Or(auth.ClientSecretRef.Key, "client-secret")},
		{"spec.storage.postgresSecretRef", "DATABASE_URL", storage.PostgresSecretRef.Name, cmp.Or(storage.PostgresSecretRef.Key, "connection-string")},
		{"spec.storage.redisSecretRef", "REDIS_URL", storage.RedisSecretRef.Name, cmp.Or(storage.RedisSecretRef.Key, "connection-string")},
	}
}

// secrets hashes what gateways read of Secrets, and keeps no more than the hashes.
type secrets struct {
	// cached has the metadata of Secrets; live reads them.
	cached, live client.Reader

	hashes *lru.Cache // map[string]string by secretVersion
}

// secretVersion is a Secret with certain data.
type secretVersion struct {
	uid             types.UID
	resourceVersion string
}

// maxSecretHashes limits the number of Secrets whose hashes are cached.
const maxSecretHashes = 10000

// hash changes with the content of what the instance references. The error is a
// *problem where something of it is missing.
func (s *secrets) hash(ctx context.Context, instance *v1.OpenClawInstance) (string, error) {
	all := map[string]string{}
	for _, reference := range listSecretReferences(instance) {
		hashes, err := s.read(ctx, client.ObjectKey{Namespace: instance.Namespace, Name: reference.name})
		switch {
		case apierrors.IsNotFound(err):
			return "", &problem{ReasonSecretNotFound, fmt.Sprintf(
				"Secret %s does not exist in namespace %s; create it with key %s, for %s", reference.name, instance.Namespace, reference.key, reference.field)}
		case err != nil:
			return "", fmt.Errorf("reading Secret %s for %s: %w", reference.name, reference.field, err)
		case hashes[reference.key] == "":
			return "", &problem{ReasonSecretKeyNotFound, fmt.Sprintf(
				"Secret %s has no key %s, for %s; add it", reference.name, reference.key, reference.field)}
		}
		all[reference.field] = hashes[reference.key]
	}
	return hashOf(all), nil
}

// read returns the hashes of a Secret's values. It calls the API server only after a change.
func (s *secrets) read(ctx context.Context, key client.ObjectKey) (map[string]string, error) {
	known := object.MetadataOf(object.SecretKind)
	if err := s.cached.Get(ctx, key, known); err != nil {
		return nil, err
	}
	if hashes, found := s.hashes.Get(secretVersion{known.UID, known.ResourceVersion}); found {
		return hashes.(map[string]string), nil
	}
	secret := &corev1.Secret{}
	if err := s.live.Get(ctx, key, secret); err != nil {
		return nil, err
	}
	hashes := map[string]string{}
	for name, value := range secret.Data {
		// The hash is part of what readers of Deployments see. With the Secret's uid in
		// it, who may not read the Secret cannot check a guess.
		sum := sha256.Sum256(append([]byte(secret.UID), value...))
		hashes[name] = hex.EncodeToString(sum[:])
	}
	s.hashes.Add(secretVersion{secret.UID, secret.ResourceVersion}, hashes)
	return hashes, nil
}
