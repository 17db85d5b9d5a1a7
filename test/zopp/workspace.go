package zopp

import (
	"context"
	"crypto/ed25519"
	"fmt"

	"github.com/google/uuid"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/lintel-policy/lintel/controllers/zopp/store"
	"github.com/lintel-policy/lintel/controllers/zopp/store/wire"
)

// Workspace is one that the owner of a Peer has made, whose key is therefore known.
type Workspace struct {
	Name string

	peer *Peer
	id   string
	key  []byte
}

// MakeWorkspace makes one of the name. A real server may have others of that name.
func (p *Peer) MakeWorkspace(ctx context.Context, name string) (*Workspace, error) {
	id, err := uuid.NewV7()
	if err != nil {
		return nil, err
	}
	w := &Workspace{Name: name, peer: p, id: id.String(), key: random(32)}
	key, err := wrap(p.owner.unwrapping.PublicKey(), w.id, w.key)
	if err != nil {
		return nil, err
	}
	_, err = p.client().CreateWorkspace(ctx, &wire.CreateWorkspaceRequest{
		Id: w.id, Name: name, EphemeralPub: key.ephemeral, KekWrapped: key.key, KekNonce: key.nonce,
	})
	return w, during(err, "making workspace %s", name)
}

// MakeService makes a service that has the workspace's key, and no permission.
func (w *Workspace) MakeService(ctx context.Context, name string) (*Principal, error) {
	p, err := NewPrincipal(name)
	if err != nil {
		return nil, err
	}
	key, err := wrap(p.unwrapping.PublicKey(), w.id, w.key)
	if err != nil {
		return nil, err
	}
	made, err := w.peer.client().Register(ctx, &wire.RegisterRequest{
		PrincipalName: name, IsService: true, WorkspaceName: &w.Name,
		PublicKey: p.signing.Public().(ed25519.PublicKey), X25519PublicKey: p.unwrapping.PublicKey().Bytes(),
		EphemeralPub: key.ephemeral, KekWrapped: key.key, KekNonce: key.nonce,
	})
	p.ID = made.GetPrincipalId()
	return p, during(err, "making service %s", name)
}

// MakeReader makes a service that may read all of the workspace.
func (w *Workspace) MakeReader(ctx context.Context, name string) (*Principal, error) {
	p, err := w.MakeService(ctx, name)
	if err != nil {
		return nil, err
	}
	return p, w.Permit(ctx, p, wire.Role_READ)
}

// Grant gives access to a principal of another workspace.
func (w *Workspace) Grant(ctx context.Context, p *Principal) error {
	key, err := wrap(p.unwrapping.PublicKey(), w.id, w.key)
	if err != nil {
		return err
	}
	_, err = w.peer.client().GrantPrincipalWorkspaceAccess(ctx, &wire.GrantPrincipalWorkspaceAccessRequest{
		WorkspaceName: w.Name, PrincipalId: p.ID, EphemeralPub: key.ephemeral, KekWrapped: key.key, KekNonce: key.nonce,
	})
	return during(err, "giving %s access to %s", p.Name, w.Name)
}

// Permit gives a role in all of the workspace.
func (w *Workspace) Permit(ctx context.Context, p *Principal, role wire.Role) error {
	_, err := w.peer.client().SetWorkspacePermission(ctx, &wire.SetWorkspacePermissionRequest{WorkspaceName: w.Name, PrincipalId: p.ID, Role: role})
	return during(err, "permitting %s in %s", p.Name, w.Name)
}

// Withdraw takes back what Permit has given.
func (w *Workspace) Withdraw(ctx context.Context, p *Principal) error {
	_, err := w.peer.client().RemoveWorkspacePermission(ctx, &wire.RemoveWorkspacePermissionRequest{WorkspaceName: w.Name, PrincipalId: p.ID})
	return during(err, "withdrawing what %s may in %s", p.Name, w.Name)
}

// Environment is one that the owner of a Peer has made, whose key is therefore known.
type Environment struct {
	store.Environment

	workspace *Workspace
	key       []byte
}

// MakeEnvironment makes an environment, and its project where there is none of the name.
func (w *Workspace) MakeEnvironment(ctx context.Context, project, name string) (*Environment, error) {
	_, err := w.peer.client().CreateProject(ctx, &wire.CreateProjectRequest{WorkspaceName: w.Name, Name: project})
	if err != nil && status.Code(err) != codes.AlreadyExists {
		return nil, during(err, "making project %s", project)
	}
	e := &Environment{Environment: store.Environment{Workspace: w.Name, Project: project, Name: name}, workspace: w}
	return e, e.make(ctx)
}

func (e *Environment) make(ctx context.Context) error {
	key := random(32)
	nonce, sealed, err := seal(e.workspace.key, key, "environment:"+placeOf(e.Environment))
	if err != nil {
		return err
	}
	_, err = e.client().CreateEnvironment(ctx, &wire.CreateEnvironmentRequest{
		WorkspaceName: e.Workspace, ProjectName: e.Project, Name: e.Name, DekWrapped: sealed, DekNonce: nonce,
	})
	if err == nil {
		e.key = key
	}
	return during(err, "making environment %s", e.Environment)
}

func (e *Environment) client() wire.ZoppServiceClient { return e.workspace.peer.client() }

// Remove deletes it.
func (e *Environment) Remove(ctx context.Context) error {
	_, err := e.client().DeleteEnvironment(ctx, &wire.DeleteEnvironmentRequest{WorkspaceName: e.Workspace, ProjectName: e.Project, EnvironmentName: e.Name})
	return during(err, "removing environment %s", e.Environment)
}

// Remake deletes it, and makes another of the name: empty, and with another key.
func (e *Environment) Remake(ctx context.Context) error {
	if err := e.Remove(ctx); err != nil {
		return err
	}
	return e.make(ctx)
}

// Rotate gives the environment another key and encrypts its values by it. No server has a
// call for that yet: it is for a Double alone.
func (e *Environment) Rotate(ctx context.Context, values map[string]string) error {
	d := e.workspace.peer.Double
	if d == nil {
		return errNoDouble
	}
	key := random(32)
	nonce, sealed, err := seal(e.workspace.key, key, "environment:"+placeOf(e.Environment))
	if err != nil {
		return err
	}
	d.mutex.Lock()
	found := d.find(e.Environment)
	found.dekWrapped, found.dekNonce = sealed, nonce
	d.mutex.Unlock()
	e.key = key
	for name, value := range values {
		if err := e.Set(ctx, name, value); err != nil {
			return err
		}
	}
	return nil
}

// Set gives a key a value.
func (e *Environment) Set(ctx context.Context, key, value string) error {
	nonce, ciphertext, err := seal(e.key, []byte(value), "secret:"+placeOf(e.Environment)+":"+key)
	if err != nil {
		return err
	}
	return e.SetSealed(ctx, key, nonce, ciphertext)
}

// SetSealed sets a key to a ciphertext, which may be invalid.
func (e *Environment) SetSealed(ctx context.Context, key string, nonce, ciphertext []byte) error {
	_, err := e.client().UpsertSecret(ctx, &wire.UpsertSecretRequest{
		WorkspaceName: e.Workspace, ProjectName: e.Project, EnvironmentName: e.Name, Key: key, Nonce: nonce, Ciphertext: ciphertext,
	})
	return during(err, "setting %s in %s", key, e.Environment)
}

// Delete takes a key out.
func (e *Environment) Delete(ctx context.Context, key string) error {
	_, err := e.client().DeleteSecret(ctx, &wire.DeleteSecretRequest{WorkspaceName: e.Workspace, ProjectName: e.Project, EnvironmentName: e.Name, Key: key})
	return during(err, "deleting %s from %s", key, e.Environment)
}

// Permit gives a role in this environment alone.
func (e *Environment) Permit(ctx context.Context, p *Principal, role wire.Role) error {
	_, err := e.client().SetEnvironmentPermission(ctx, &wire.SetEnvironmentPermissionRequest{
		WorkspaceName: e.Workspace, ProjectName: e.Project, EnvironmentName: e.Name, PrincipalId: p.ID, Role: role,
	})
	return during(err, "permitting %s in %s", p.Name, e.Environment)
}

// Withdraw takes back what Permit has given.
func (e *Environment) Withdraw(ctx context.Context, p *Principal) error {
	_, err := e.client().RemoveEnvironmentPermission(ctx, &wire.RemoveEnvironmentPermissionRequest{
		WorkspaceName: e.Workspace, ProjectName: e.Project, EnvironmentName: e.Name, PrincipalId: p.ID,
	})
	return during(err, "withdrawing what %s may in %s", p.Name, e.Environment)
}

func during(err error, format string, arguments ...any) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", fmt.Sprintf(format, arguments...), err)
}
