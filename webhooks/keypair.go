package webhooks

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// KeyPairFiles are a certificate with its chain, its key and its authority, in PEM,
// as cert-manager writes them into a Secret. Authority may be empty.
type KeyPairFiles struct {
	Certificate, Key, Authority []byte
}

// KeyPairSource reads the newest key pair.
type KeyPairSource func(ctx context.Context) (KeyPairFiles, error)

// Directory reads tls.crt, tls.key and ca.crt of a folder, such as a mounted Secret.
func Directory(path string) KeyPairSource {
	return func(context.Context) (files KeyPairFiles, err error) {
		for name, into := range map[string]*[]byte{
			corev1.TLSCertKey: &files.Certificate, corev1.TLSPrivateKeyKey: &files.Key, "ca.crt": &files.Authority,
		} {
			*into, err = os.ReadFile(filepath.Join(path, name))
			if err != nil && !(name == "ca.crt" && errors.Is(err, os.ErrNotExist)) {
				return files, fmt.Errorf("reading the serving certificate: %w", err)
			}
		}
		return files, nil
	}
}

// Secret reads a Secret of type kubernetes.io/tls, for a manager that has none
// mounted.
func Secret(reader client.Reader, key client.ObjectKey) KeyPairSource {
	return func(ctx context.Context) (KeyPairFiles, error) {
		var secret corev1.Secret
		if err := reader.Get(ctx, key, &secret); err != nil {
			return KeyPairFiles{}, fmt.Errorf("reading the serving certificate: %w", err)
		}
		return KeyPairFiles{
			Certificate: secret.Data[corev1.TLSCertKey],
			Key:         secret.Data[corev1.TLSPrivateKeyKey],
			Authority:   secret.Data["ca.crt"],
		}, nil
	}
}
