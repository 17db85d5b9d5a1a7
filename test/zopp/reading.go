package zopp

import (
	"context"
	"maps"
	"slices"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/lintel-policy/lintel/controllers/zopp/store/wire"
)

// GetWorkspaceKeys needs no permission, only access to the workspace.
func (d *Double) GetWorkspaceKeys(ctx context.Context, request *wire.GetWorkspaceKeysRequest) (*wire.WorkspaceKeys, error) {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	who := askerOf(ctx)
	w, err := d.enter(who, request.GetWorkspaceName())
	if err != nil {
		return nil, err
	}
	key, there := w.keys[who.id]
	if !there {
		return nil, status.Error(codes.NotFound, "the key of the workspace is not wrapped for this principal")
	}
	return &wire.WorkspaceKeys{WorkspaceId: w.id, EphemeralPub: key.ephemeral, KekWrapped: key.key, KekNonce: key.nonce}, nil
}

// GetEnvironment is without the version.
func (d *Double) GetEnvironment(ctx context.Context, request *wire.GetEnvironmentRequest) (*wire.Environment, error) {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	found, err := d.reach(askerOf(ctx), request, wire.Role_READ)
	if err != nil {
		return nil, err
	}
	return found.environment.message(), nil
}

func (e *storedEnvironment) message() *wire.Environment {
	return &wire.Environment{
		Id: e.id, ProjectId: e.project, Name: e.name,
		DekWrapped: e.dekWrapped, DekNonce: e.dekNonce,
		CreatedAt: e.created, UpdatedAt: e.created,
	}
}

// ListSecrets has the secrets by their keys.
func (d *Double) ListSecrets(ctx context.Context, request *wire.ListSecretsRequest) (*wire.SecretList, error) {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	found, err := d.reach(askerOf(ctx), request, wire.Role_READ)
	if err != nil {
		return nil, err
	}
	list := &wire.SecretList{Version: found.environment.version}
	for _, key := range slices.Sorted(maps.Keys(found.environment.secrets)) {
		list.Secrets = append(list.Secrets, found.environment.secrets[key].message(key))
	}
	return list, nil
}

func (s sealed) message(key string) *wire.Secret {
	return &wire.Secret{Key: key, Nonce: s.nonce, Ciphertext: s.ciphertext}
}

// GetSecret is one of the list.
func (d *Double) GetSecret(ctx context.Context, request *wire.GetSecretRequest) (*wire.Secret, error) {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	found, err := d.reach(askerOf(ctx), request, wire.Role_READ)
	if err != nil {
		return nil, err
	}
	secret, there := found.environment.secrets[request.GetKey()]
	if !there {
		return nil, errNoSecret
	}
	return secret.message(request.GetKey()), nil
}

// WatchSecrets sends what changes from now on. It does not look at since_version. Whether
// who watches may still read is asked again before each event.
func (d *Double) WatchSecrets(request *wire.WatchSecretsRequest, stream grpc.ServerStreamingServer[wire.WatchSecretsResponse]) error {
	who := askerOf(stream.Context())
	d.mutex.Lock()
	found, err := d.reach(who, request, wire.Role_READ)
	if err != nil {
		d.mutex.Unlock()
		return err
	}
	s := d.bus.subscribe(found.environment.id)
	d.mutex.Unlock()
	defer d.bus.unsubscribe(s)
	if err := stream.SendHeader(d.date()); err != nil {
		return err
	}
	events := make(chan *wire.WatchSecretsResponse, buffered)
	go d.forward(stream.Context(), s, events)
	return d.pass(who, found, s, stream, events)
}

// forward sends the buffered events to the stream, until the stream ends.
func (d *Double) forward(ctx context.Context, s *subscriber, events chan<- *wire.WatchSecretsResponse) {
	for {
		if paused := d.bus.pausing(); paused != nil {
			select {
			case <-paused:
			case <-ctx.Done():
				return
			}
		}
		event := s.take()
		if event == nil {
			select {
			case <-s.wake:
				continue
			case <-ctx.Done():
				return
			}
		}
		select {
		case events <- event:
		case <-ctx.Done():
			return
		}
	}
}

func (d *Double) pass(who *storedPrincipal, found place, s *subscriber, stream grpc.ServerStreamingServer[wire.WatchSecretsResponse], events <-chan *wire.WatchSecretsResponse) error {
	for {
		select {
		case <-stream.Context().Done():
			return stream.Context().Err()
		case err := <-s.ended:
			return err
		case event := <-events:
			d.mutex.Lock()
			permitted := may(who, found.workspace, found.environment, wire.Role_READ)
			d.mutex.Unlock()
			if !permitted {
				return status.Error(codes.PermissionDenied, "the permission was withdrawn")
			}
			altered := d.alter(prefix+"WatchSecrets", event).(*wire.WatchSecretsResponse)
			if err := stream.Send(altered); err != nil {
				return err
			}
		}
	}
}
