package store

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/lintel-policy/lintel/controllers/zopp/store/wire"
)

// List reads all values of an environment. Its error is an *Error, unless the context is done.
func (s *Store) List(ctx context.Context, environment Environment) (*Contents, error) {
	q, err := s.question(environment)
	if err != nil {
		return nil, err
	}
	contents, sealed, err := s.read(ctx, q)
	if err != nil || !contents.hasUndecryptable() {
		return contents, err
	}
	// The environment may have been re-created, with another key, between the two calls.
	now, err := s.sealed(ctx, q)
	if err != nil {
		return nil, err
	}
	if sameKey(now, sealed) {
		return contents, nil
	}
	contents, _, err = s.read(ctx, q)
	return contents, err
}

// read requests the environment, which contains its key, and then its secrets.
func (s *Store) read(ctx context.Context, q question) (*Contents, *wire.Environment, error) {
	sealed, err := s.sealed(ctx, q)
	if err != nil {
		return nil, nil, err
	}
	key, err := s.key(ctx, q, sealed)
	if err != nil {
		return nil, nil, err
	}
	defer clear(key)
	list, err := call(ctx, s, q, wire.ZoppService_ListSecrets_FullMethodName, &wire.ListSecretsRequest{
		WorkspaceName: q.environment.Workspace, ProjectName: q.environment.Project, EnvironmentName: q.environment.Name,
	}, s.client.ListSecrets)
	if err != nil {
		return nil, nil, err
	}
	return &Contents{ID: sealed.GetId(), Version: list.GetVersion(), Values: values(key, q.environment, list.GetSecrets())}, sealed, nil
}

// Identify returns the ID of an environment. One that is deleted and created again has
// another. Its error is an *Error, unless the context is done.
func (s *Store) Identify(ctx context.Context, environment Environment) (string, error) {
	q, err := s.question(environment)
	if err != nil {
		return "", err
	}
	sealed, err := s.sealed(ctx, q)
	return sealed.GetId(), err
}

func (s *Store) sealed(ctx context.Context, q question) (*wire.Environment, error) {
	return call(ctx, s, q, wire.ZoppService_GetEnvironment_FullMethodName, &wire.GetEnvironmentRequest{
		WorkspaceName: q.environment.Workspace, ProjectName: q.environment.Project, EnvironmentName: q.environment.Name,
	}, s.client.GetEnvironment)
}

// values decrypts each secret separately. A server returns each key once; if a key appears
// twice, the correct value is unknown.
func values(key []byte, e Environment, secrets []*wire.Secret) []Value {
	all := make([]Value, 0, len(secrets))
	for _, secret := range secrets {
		value := Value{Key: secret.GetKey()}
		text, err := decrypt(key, e, secret)
		if err != nil {
			value.Err = undecryptable("a value of %s cannot be decrypted: %w; set it again with `zopp secret set`", e, err)
		} else {
			value.Value = text
		}
		all = append(all, value)
	}
	slices.SortStableFunc(all, func(a, b Value) int { return strings.Compare(a.Key, b.Key) })
	once := all[:0]
	for _, value := range all {
		if last := len(once) - 1; last >= 0 && once[last].Key == value.Key {
			once[last] = Value{Key: value.Key, Err: undecryptable("the zopp server has sent a value of %s twice", e)}
			continue
		}
		once = append(once, value)
	}
	return once
}

func (c *Contents) hasUndecryptable() bool {
	return slices.ContainsFunc(c.Values, func(v Value) bool { return v.Err != nil })
}

// environmentKey is the key of an environment, cached while the environment is in use.
type environmentKey struct {
	principal string
	sealed    *wire.Environment
	key       []byte
}

// key returns a copy of an environment's key, for the caller to clear. The key is unwrapped again
// if the key or the principal has changed.
func (s *Store) key(ctx context.Context, q question, sealed *wire.Environment) ([]byte, error) {
	if key := s.kept(q, sealed); key != nil {
		return key, nil
	}
	wrapped, err := call(ctx, s, q, wire.ZoppService_GetWorkspaceKeys_FullMethodName,
		&wire.GetWorkspaceKeysRequest{WorkspaceName: q.environment.Workspace}, s.client.GetWorkspaceKeys)
	if err != nil {
		return nil, err
	}
	workspace, err := q.principal.unwrapWorkspace(wrapped)
	if err != nil {
		return nil, undecryptable("the key of workspace %s cannot be unwrapped by principal %s: %w; its X25519 keys have changed since access was granted: use the earlier credentials, or create a new principal with `zopp principal create NAME --service -w %s`",
			q.environment.Workspace, q.principal, err, q.environment.Workspace)
	}
	defer clear(workspace)
	key, err := unwrapEnvironment(workspace, q.environment, sealed)
	if err != nil {
		return nil, undecryptable("the key of %s cannot be unwrapped with the key of its workspace: %w; if the environment, its project or its workspace was renamed, create the environment again", q.environment, err)
	}
	s.keep(q, sealed, key)
	return key, nil
}

func (s *Store) kept(q question, sealed *wire.Environment) []byte {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	known, there := s.keys[q.environment]
	if !there || known.principal != q.principal.identity() || !sameKey(known.sealed, sealed) {
		return nil
	}
	return bytes.Clone(known.key)
}

func (s *Store) keep(q question, sealed *wire.Environment, key []byte) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.forget(q.environment)
	s.keys[q.environment] = &environmentKey{q.principal.identity(), sealed, bytes.Clone(key)}
}

// forget removes a key. s.mutex is locked.
func (s *Store) forget(environment Environment) {
	if known, there := s.keys[environment]; there {
		clear(known.key)
		delete(s.keys, environment)
	}
}

// sameKey reports whether two responses describe one environment with one key. Encrypting twice
// never produces the same bytes.
func sameKey(a, b *wire.Environment) bool {
	return a.GetId() == b.GetId() && bytes.Equal(a.GetDekWrapped(), b.GetDekWrapped()) && bytes.Equal(a.GetDekNonce(), b.GetDekNonce())
}

func undecryptable(format string, arguments ...any) *Error {
	cause := fmt.Errorf(format, arguments...)
	return &Error{Reason: ReasonUndecryptable, Message: cause.Error(), Cause: cause}
}
