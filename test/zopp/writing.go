package zopp

import (
	"context"
	"strings"

	"github.com/google/uuid"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/lintel-policy/lintel/controllers/zopp/store/wire"
)

// Register creates a person, without an approval, or a service, which the owner of a workspace
// creates and gives access to it.
func (d *Double) Register(ctx context.Context, request *wire.RegisterRequest) (*wire.RegisterResponse, error) {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	made := &storedPrincipal{id: uuid.NewString(), name: request.GetPrincipalName(), public: request.GetPublicKey()}
	if isOpen(request) {
		made.user = strings.ToLower(request.GetEmail())
		d.principals[made.id] = made
		return &wire.RegisterResponse{UserId: uuid.NewString(), PrincipalId: made.id}, nil
	}
	w, err := d.enter(askerOf(ctx), request.GetWorkspaceName())
	if err != nil {
		return nil, err
	}
	if askerOf(ctx).user != w.owner {
		return nil, errNotPermitted
	}
	d.principals[made.id] = made
	if request.EphemeralPub != nil && request.KekWrapped != nil && request.KekNonce != nil {
		w.keys[made.id] = wrapped{request.GetEphemeralPub(), request.GetKekWrapped(), request.GetKekNonce()}
	}
	return &wire.RegisterResponse{PrincipalId: made.id}, nil
}

// CreateWorkspace makes one of the user's.
func (d *Double) CreateWorkspace(ctx context.Context, request *wire.CreateWorkspaceRequest) (*wire.Workspace, error) {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	who := askerOf(ctx)
	if who.user == "" {
		return nil, status.Error(codes.Unauthenticated, "services may not do this")
	}
	id, err := uuid.Parse(request.GetId())
	if err != nil {
		return nil, status.Error(codes.InvalidArgument, "the id is no UUID")
	}
	d.workspaces[id.String()] = &storedWorkspace{
		id: id.String(), name: request.GetName(), owner: who.user,
		keys:     map[string]wrapped{who.id: {request.GetEphemeralPub(), request.GetKekWrapped(), request.GetKekNonce()}},
		roles:    map[string]wire.Role{},
		projects: map[string]*project{},
	}
	return &wire.Workspace{Id: id.String(), Name: request.GetName()}, nil
}

// GrantPrincipalWorkspaceAccess wraps the key of a workspace for a principal.
func (d *Double) GrantPrincipalWorkspaceAccess(ctx context.Context, request *wire.GrantPrincipalWorkspaceAccessRequest) (*wire.Empty, error) {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	w, err := d.own(askerOf(ctx), request.GetWorkspaceName())
	if err != nil {
		return nil, err
	}
	if d.principals[request.GetPrincipalId()] == nil {
		return nil, status.Error(codes.NotFound, "principal not found")
	}
	w.keys[request.GetPrincipalId()] = wrapped{request.GetEphemeralPub(), request.GetKekWrapped(), request.GetKekNonce()}
	return &wire.Empty{}, nil
}

// CreateProject makes one in a workspace.
func (d *Double) CreateProject(ctx context.Context, request *wire.CreateProjectRequest) (*wire.Project, error) {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	w, err := d.own(askerOf(ctx), request.GetWorkspaceName())
	if err != nil {
		return nil, err
	}
	if w.projects[request.GetName()] != nil {
		return nil, status.Error(codes.AlreadyExists, "there is such a project")
	}
	p := &project{id: uuid.NewString(), name: request.GetName(), environments: map[string]*storedEnvironment{}}
	w.projects[p.name] = p
	return &wire.Project{Id: p.id, WorkspaceId: w.id, Name: p.name, CreatedAt: d.Now().Unix(), UpdatedAt: d.Now().Unix()}, nil
}

// CreateEnvironment makes one in a project, at version 0.
func (d *Double) CreateEnvironment(ctx context.Context, request *wire.CreateEnvironmentRequest) (*wire.Environment, error) {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	w, err := d.own(askerOf(ctx), request.GetWorkspaceName())
	if err != nil {
		return nil, err
	}
	p := w.projects[request.GetProjectName()]
	if p == nil {
		return nil, errNoProject
	}
	if p.environments[request.GetName()] != nil {
		return nil, status.Error(codes.AlreadyExists, "there is such an environment")
	}
	e := &storedEnvironment{
		id: uuid.NewString(), name: request.GetName(), project: p.id,
		dekWrapped: request.GetDekWrapped(), dekNonce: request.GetDekNonce(),
		created: d.Now().Unix(),
		secrets: map[string]sealed{}, roles: map[string]wire.Role{},
	}
	p.environments[e.name] = e
	return e.message(), nil
}

// DeleteEnvironment sends no event to subscribers of the environment.
func (d *Double) DeleteEnvironment(ctx context.Context, request *wire.DeleteEnvironmentRequest) (*wire.Empty, error) {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	found, err := d.reach(askerOf(ctx), request, wire.Role_ADMIN)
	if err != nil {
		return nil, err
	}
	delete(found.workspace.projects[request.GetProjectName()].environments, request.GetEnvironmentName())
	return &wire.Empty{}, nil
}

// UpsertSecret raises the version whether the value differs or not.
func (d *Double) UpsertSecret(ctx context.Context, request *wire.UpsertSecretRequest) (*wire.Empty, error) {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	found, err := d.reach(askerOf(ctx), request, wire.Role_WRITE)
	if err != nil {
		return nil, err
	}
	kind := wire.SecretChangeEvent_UPDATED
	if _, there := found.environment.secrets[request.GetKey()]; !there && d.bus.tellsCreated() {
		kind = wire.SecretChangeEvent_CREATED
	}
	found.environment.secrets[request.GetKey()] = sealed{request.GetNonce(), request.GetCiphertext()}
	d.changed(found.environment, kind, request.GetKey())
	return &wire.Empty{}, nil
}

// DeleteSecret takes one out.
func (d *Double) DeleteSecret(ctx context.Context, request *wire.DeleteSecretRequest) (*wire.Empty, error) {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	found, err := d.reach(askerOf(ctx), request, wire.Role_WRITE)
	if err != nil {
		return nil, err
	}
	if _, there := found.environment.secrets[request.GetKey()]; !there {
		return nil, errNoSecret
	}
	delete(found.environment.secrets, request.GetKey())
	d.changed(found.environment, wire.SecretChangeEvent_DELETED, request.GetKey())
	return &wire.Empty{}, nil
}

func (d *Double) changed(e *storedEnvironment, kind wire.SecretChangeEvent_EventType, key string) {
	e.version++
	d.bus.send(e.id, &wire.WatchSecretsResponse{Response: &wire.WatchSecretsResponse_Event{
		Event: &wire.SecretChangeEvent{EventType: kind, Key: key, Version: e.version, Timestamp: d.Now().Unix()},
	}})
}

// SetWorkspacePermission gives a principal a role in all of a workspace.
func (d *Double) SetWorkspacePermission(ctx context.Context, request *wire.SetWorkspacePermissionRequest) (*wire.Empty, error) {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	w, err := d.own(askerOf(ctx), request.GetWorkspaceName())
	if err != nil {
		return nil, err
	}
	return setRole(w.roles, request.GetPrincipalId(), request.GetRole())
}

// RemoveWorkspacePermission withdraws it.
func (d *Double) RemoveWorkspacePermission(ctx context.Context, request *wire.RemoveWorkspacePermissionRequest) (*wire.Empty, error) {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	w, err := d.own(askerOf(ctx), request.GetWorkspaceName())
	if err != nil {
		return nil, err
	}
	return removeRole(w.roles, request.GetPrincipalId())
}

// SetEnvironmentPermission gives a principal a role in one environment.
func (d *Double) SetEnvironmentPermission(ctx context.Context, request *wire.SetEnvironmentPermissionRequest) (*wire.Empty, error) {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	found, err := d.reach(askerOf(ctx), request, wire.Role_ADMIN)
	if err != nil {
		return nil, err
	}
	return setRole(found.environment.roles, request.GetPrincipalId(), request.GetRole())
}

// RemoveEnvironmentPermission withdraws it.
func (d *Double) RemoveEnvironmentPermission(ctx context.Context, request *wire.RemoveEnvironmentPermissionRequest) (*wire.Empty, error) {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	found, err := d.reach(askerOf(ctx), request, wire.Role_ADMIN)
	if err != nil {
		return nil, err
	}
	return removeRole(found.environment.roles, request.GetPrincipalId())
}

func setRole(roles map[string]wire.Role, principal string, role wire.Role) (*wire.Empty, error) {
	if role < wire.Role_ADMIN || role > wire.Role_READ {
		return nil, status.Error(codes.InvalidArgument, "there is no such role")
	}
	roles[principal] = role
	return &wire.Empty{}, nil
}

func removeRole(roles map[string]wire.Role, principal string) (*wire.Empty, error) {
	if roles[principal] == wire.Role_ROLE_UNSPECIFIED {
		return nil, status.Error(codes.NotFound, "permission not found")
	}
	delete(roles, principal)
	return &wire.Empty{}, nil
}
