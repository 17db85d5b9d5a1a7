package zopp

import (
	"context"
	"crypto/ed25519"
	"crypto/tls"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/google/uuid"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/proto"

	"github.com/lintel-policy/lintel/controllers/zopp/store/wire"
)

// Peer is a zopp server to test against: the real one that ZOPP_SERVER names, where the person
// of ZOPP_CREDENTIALS may create workspaces, or a Double. Items that are created in a real one
// stay there.
type Peer struct {
	// URL is the server's address.
	URL string
	// Double is nil where a real one is tested against.
	Double *Double

	owner      *Principal
	connection *grpc.ClientConn
}

// Start starts a Double, unless there is a real server.
func Start(ctx context.Context) (*Peer, error) {
	server, credentials := os.Getenv("ZOPP_SERVER"), os.Getenv("ZOPP_CREDENTIALS")
	if (server == "") != (credentials == "") {
		return nil, errors.New("ZOPP_SERVER and ZOPP_CREDENTIALS are a server and the file of a person who may make workspaces there: set both, or none")
	}
	if server == "" {
		return StartDouble(ctx, NewDouble())
	}
	owner, err := readPrincipal(credentials)
	if err != nil {
		return nil, err
	}
	p := &Peer{URL: server, owner: owner}
	return p, p.connect()
}

// StartDouble starts a Double, and makes a person who may make workspaces there.
func StartDouble(ctx context.Context, d *Double) (*Peer, error) {
	if err := d.Start(); err != nil {
		return nil, err
	}
	owner, err := NewPrincipal("owner")
	if err != nil {
		return nil, err
	}
	p := &Peer{URL: d.URL(), Double: d, owner: owner}
	if err := p.connect(); err != nil {
		return nil, err
	}
	registered, err := wire.NewZoppServiceClient(p.connection).Register(ctx, &wire.RegisterRequest{
		Email: uuid.NewString() + "@example.com", PrincipalName: owner.Name,
		PublicKey: owner.signing.Public().(ed25519.PublicKey), X25519PublicKey: owner.unwrapping.PublicKey().Bytes(),
	})
	if err != nil {
		return nil, fmt.Errorf("making the owner: %w", err)
	}
	owner.ID = registered.GetPrincipalId()
	return p, nil
}

func (p *Peer) connect() (err error) {
	p.connection, err = p.dial(grpc.WithUnaryInterceptor(p.sign))
	return err
}

func (p *Peer) dial(options ...grpc.DialOption) (*grpc.ClientConn, error) {
	address, isSecure := strings.CutPrefix(p.URL, "https://")
	transport := insecure.NewCredentials()
	if isSecure {
		trusted := &tls.Config{} // the system's roots
		if p.Double != nil {
			trusted.RootCAs = p.Double.roots
		}
		transport = credentials.NewTLS(trusted)
	}
	return grpc.NewClient(strings.TrimPrefix(address, "http://"), append(options, grpc.WithTransportCredentials(transport))...)
}

// sign signs what the owner sends.
func (p *Peer) sign(ctx context.Context, method string, request, answer any, connection *grpc.ClientConn, send grpc.UnaryInvoker, options ...grpc.CallOption) error {
	ctx, err := p.owner.signed(ctx, method, request.(proto.Message))
	if err != nil {
		return err
	}
	return send(ctx, method, request, answer, connection, append(options, grpc.WaitForReady(true))...)
}

func (p *Peer) client() wire.ZoppServiceClient { return wire.NewZoppServiceClient(p.connection) }

// Stop ends a Double, and the connection to a real server.
func (p *Peer) Stop() {
	_ = p.connection.Close()
	if p.Double != nil {
		p.Double.Stop()
	}
}
