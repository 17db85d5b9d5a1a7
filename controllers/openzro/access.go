package openzro

import (
	"context"
	"fmt"
	"os"
	"path"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/lintel-policy/lintel/api/openzro/v1"
	"github.com/lintel-policy/lintel/controllers/object"
	"github.com/lintel-policy/lintel/controllers/openzro/management"
)

// credentials are those of a namespace, and where they are from.
type credentials struct {
	management.Credentials
	source    v1.KeySource
	namespace string
	// account is the account whose use the annotation of the Secret acknowledges.
	account string
}

// where returns the location of the key, for messages.
func (c credentials) where() string {
	if c.source == v1.KeyDefault {
		return "the file of --openzro-api-key-file"
	}
	return fmt.Sprintf("Secret %s in namespace %s (%s)", v1.APIKeySecret, c.namespace, v1.APIKey)
}

// access finds the credentials of namespaces.
type access struct {
	// cached has the metadata of Secrets; live reads them.
	cached, live client.Reader
	// url and file are those of the default key, which the namespaces have that match a
	// glob.
	url, file  string
	namespaces []string

	mutex sync.Mutex // guards the fields below
	// secrets are those that were read, by namespace. They are remembered for objects
	// that are deleted together with them.
	secrets map[string]secret
	// changed is when the file was, whose content is key.
	changed time.Time
	key     string
}

// secret is a version of a Secret that was read.
type secret struct {
	uid     types.UID
	version string
	credentials
}

// of are the credentials of a namespace. The error is a *problem where there are none.
func (a *access) of(ctx context.Context, namespace string) (credentials, error) {
	own, found, err := a.own(ctx, namespace)
	if err != nil || found {
		return own, err
	}
	return a.fallback(namespace)
}

// own returns the credentials in the namespace's own Secret. A Secret without a key is a
// problem: the default key is never sent to the Secret's server.
func (a *access) own(ctx context.Context, namespace string) (own credentials, found bool, err error) {
	name := client.ObjectKey{Namespace: namespace, Name: v1.APIKeySecret}
	known := object.MetadataOf(object.SecretKind)
	err = a.cached.Get(ctx, name, known)
	if apierrors.IsNotFound(err) {
		return own, false, nil
	}
	if err != nil {
		return own, false, fmt.Errorf("reading Secret %s: %w", name, err)
	}
	a.mutex.Lock()
	read, has := a.secrets[namespace]
	a.mutex.Unlock()
	if has && read.uid == known.UID && read.version == known.ResourceVersion {
		return read.credentials, true, nil
	}
	var whole corev1.Secret
	err = a.live.Get(ctx, name, &whole)
	if apierrors.IsNotFound(err) {
		return own, false, nil
	}
	if err != nil {
		return own, false, fmt.Errorf("reading Secret %s: %w", name, err)
	}
	if own, err = a.read(&whole); err != nil {
		return own, true, err
	}
	a.mutex.Lock()
	defer a.mutex.Unlock()
	if a.secrets == nil {
		a.secrets = map[string]secret{}
	}
	a.secrets[namespace] = secret{whole.UID, whole.ResourceVersion, own}
	return own, true, nil
}

func (a *access) read(s *corev1.Secret) (credentials, error) {
	c := credentials{source: v1.KeySecret, namespace: s.Namespace}
	if c.Key = strings.TrimSpace(string(s.Data[v1.APIKey])); c.Key == "" {
		return c, waiting(v1.ReasonNoKey, "Secret %s has no %s: put a personal access token of the management server there", s.Name, v1.APIKey)
	}
	c.URL = strings.TrimSpace(string(s.Data[v1.APIManagementURL]))
	if c.URL == "" {
		c.URL = a.url
	}
	c.CA, c.account = string(s.Data[v1.APICertificates]), s.Annotations[v1.AccountAnnotation]
	c.Name, c.Elsewhere, c.Quoted = s.Namespace, !management.IsLocal(a.url), management.SameServer(c.URL, a.url)
	return c, nil
}

// fallback is the default key, for namespaces that may have it.
func (a *access) fallback(namespace string) (credentials, error) {
	c := credentials{source: v1.KeyDefault, namespace: namespace}
	if !a.mayHaveDefault(namespace) {
		p := waiting(v1.ReasonNoKey, "namespace %s has no key: make the Secret %s in it with the key %s, a personal access token of the management server", namespace, v1.APIKeySecret, v1.APIKey)
		if a.file != "" {
			p.message += ", or have the administrator list the namespace in --openzro-default-namespaces"
		}
		return c, p
	}
	key, err := a.defaultKey()
	if err != nil {
		return c, waiting(v1.ReasonNoKey, "the file of --openzro-api-key-file cannot be read, and namespace %s has no Secret %s with a key of its own (%s)", namespace, v1.APIKeySecret, v1.APIKey)
	}
	c.Credentials = management.Credentials{URL: a.url, Key: key, Quoted: true}
	return c, nil
}

// asks says whether a namespace asks a server: with the key that it has or, where that is
// gone, had last.
func (a *access) asks(ctx context.Context, namespace, server string) (bool, error) {
	c, err := a.of(ctx, namespace)
	if err != nil && problemOf(err, c) == nil {
		return false, err
	}
	if err != nil {
		a.mutex.Lock()
		defer a.mutex.Unlock()
		c = a.secrets[namespace].credentials
	}
	return management.SameServer(c.URL, server), nil
}

func (a *access) mayHaveDefault(namespace string) bool {
	if a.file == "" {
		return false
	}
	for _, glob := range a.namespaces {
		if matches, _ := path.Match(glob, namespace); matches {
			return true
		}
	}
	return false
}

// defaultKey reads the file when it has changed.
func (a *access) defaultKey() (string, error) {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	info, err := os.Stat(a.file)
	if err != nil {
		return "", err
	}
	if a.key != "" && info.ModTime().Equal(a.changed) {
		return a.key, nil
	}
	text, err := os.ReadFile(a.file)
	if err != nil {
		return "", err
	}
	key := strings.TrimSpace(string(text))
	if key == "" {
		return "", fmt.Errorf("%s is empty", a.file)
	}
	a.key, a.changed = key, info.ModTime()
	return key, nil
}

// forObject returns the credentials for an object. An object that was reconciled with the key of
// its namespace never uses the default key, which belongs to another account. If that Secret was
// deleted together with the object, the key stays in memory as long as the manager runs.
func (a *access) forObject(ctx context.Context, of v1.Object) (credentials, error) {
	found, err := a.of(ctx, of.GetNamespace())
	if of.CommonStatus().Key != v1.KeySecret || err == nil && found.source == v1.KeySecret {
		return found, err
	}
	if err != nil && problemOf(err, found) == nil {
		return found, err
	}
	if !of.GetDeletionTimestamp().IsZero() {
		a.mutex.Lock()
		defer a.mutex.Unlock()
		if read, has := a.secrets[of.GetNamespace()]; has {
			return read.credentials, nil
		}
	}
	return found, waiting(v1.ReasonNoKey,
		"Secret %s, whose key applies this object, is missing or has no key %s; no other key is used: create the Secret again", v1.APIKeySecret, v1.APIKey)
}
