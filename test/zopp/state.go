package zopp

import (
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/lintel-policy/lintel/controllers/zopp/store/wire"
)

// storedPrincipal is who may ask. A service has no user.
type storedPrincipal struct {
	id, name, user string
	public         []byte
}

// wrapped is the key of a workspace as it is wrapped for one principal.
type wrapped struct{ ephemeral, key, nonce []byte }

type storedWorkspace struct {
	id, name, owner string
	keys            map[string]wrapped
	roles           map[string]wire.Role
	projects        map[string]*project
}

type project struct {
	id, name     string
	environments map[string]*storedEnvironment
}

type storedEnvironment struct {
	id, name             string
	project              string
	dekWrapped, dekNonce []byte
	version, created     int64
	secrets              map[string]sealed
	roles                map[string]wire.Role
}

type sealed struct{ nonce, ciphertext []byte }

// place is what a request names.
type place struct {
	workspace   *storedWorkspace
	environment *storedEnvironment
}

// named is what requests have that name an environment.
type named interface {
	GetWorkspaceName() string
	GetProjectName() string
	GetEnvironmentName() string
}

var (
	errNoWorkspace   = status.Error(codes.NotFound, "workspace not found or access denied")
	errNoProject     = status.Error(codes.NotFound, "project not found")
	errNoEnvironment = status.Error(codes.NotFound, "environment not found")
	errNoSecret      = status.Error(codes.NotFound, "secret not found")
	errNotPermitted  = status.Error(codes.PermissionDenied, "no permission")
)

// enter finds a workspace that a principal has access to: it is its user's, or its key is
// wrapped for the service.
func (d *Double) enter(who *storedPrincipal, name string) (*storedWorkspace, error) {
	for _, w := range d.workspaces {
		_, isWrapped := w.keys[who.id]
		if w.name == name && (who.user != "" && w.owner == who.user || who.user == "" && isWrapped) {
			return w, nil
		}
	}
	return nil, errNoWorkspace
}

// reach finds the environment that a request names, for a principal that has the role.
func (d *Double) reach(who *storedPrincipal, request named, least wire.Role) (place, error) {
	w, err := d.enter(who, request.GetWorkspaceName())
	if err != nil {
		return place{}, err
	}
	p := w.projects[request.GetProjectName()]
	if p == nil {
		return place{}, errNoProject
	}
	e := p.environments[request.GetEnvironmentName()]
	if e == nil {
		return place{}, errNoEnvironment
	}
	if !may(who, w, e, least) {
		return place{}, errNotPermitted
	}
	return place{w, e}, nil
}

// may reports whether a principal has a role: as the owner of the workspace, or by the stronger
// of its roles in the workspace and in the environment. The stronger role has the smaller
// number.
func may(who *storedPrincipal, w *storedWorkspace, e *storedEnvironment, least wire.Role) bool {
	if who.user != "" {
		return w.owner == who.user
	}
	for _, roles := range []map[string]wire.Role{w.roles, e.roles} {
		if role := roles[who.id]; role != wire.Role_ROLE_UNSPECIFIED && role <= least {
			return true
		}
	}
	return false
}

// own finds a workspace for what only who owns it may do.
func (d *Double) own(who *storedPrincipal, name string) (*storedWorkspace, error) {
	if who.user == "" {
		return nil, status.Error(codes.Unauthenticated, "services may not do this")
	}
	return d.enter(who, name)
}
