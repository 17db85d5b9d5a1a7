package zopp

import (
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"strconv"

	"github.com/google/uuid"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/lintel-policy/lintel/controllers/zopp/store/wire"
)

// prefix is before the name of each method.
const prefix = "/zopp.ZoppService/"

// What a server accepts of a request's time, in seconds.
const (
	maxAge   = 60
	maxAhead = 30
)

// hashOf returns the signed digest of a request, as the server computes it: from the decoded
// request.
func hashOf(method string, request proto.Message) ([]byte, error) {
	known := proto.Clone(request)
	known.ProtoReflect().SetUnknown(nil)
	body, err := proto.MarshalOptions{Deterministic: true}.Marshal(known)
	if err != nil {
		return nil, err
	}
	hash := sha256.New()
	hash.Write([]byte(method))
	hash.Write(body)
	return hash.Sum(nil), nil
}

// signedText is what a principal signs.
func signedText(method string, hash []byte, seconds int64) []byte {
	text := append([]byte(method), hash...)
	return binary.LittleEndian.AppendUint64(text, uint64(seconds))
}

// authenticate finds who has signed a request.
func (d *Double) authenticate(ctx context.Context, method string, request proto.Message) (*storedPrincipal, error) {
	said, err := readHeaders(ctx)
	if err != nil {
		return nil, err
	}
	switch age := d.Now().Unix() - said.seconds; {
	case age > maxAge:
		return nil, status.Error(codes.Unauthenticated, "the timestamp is too old")
	case age < -maxAhead:
		return nil, status.Error(codes.Unauthenticated, "the timestamp is too far in the future")
	}
	hash, err := hashOf(method, request)
	if err != nil {
		return nil, status.Error(codes.Internal, err.Error())
	}
	if string(hash) != string(said.hash) {
		return nil, status.Error(codes.Unauthenticated, "the request-hash is of another request")
	}
	d.mutex.Lock()
	defer d.mutex.Unlock()
	who, there := d.principals[said.principal]
	switch {
	case !there:
		return nil, status.Error(codes.Unauthenticated, "unknown principal")
	case len(who.public) != ed25519.PublicKeySize:
		return nil, status.Error(codes.Unauthenticated, "the public key is none")
	case !ed25519.Verify(who.public, signedText(method, hash, said.seconds), said.signature):
		return nil, status.Error(codes.Unauthenticated, "wrong signature")
	}
	return who, nil
}

// headers are what proves who sends a request.
type headers struct {
	principal       string
	seconds         int64
	hash, signature []byte
}

func readHeaders(ctx context.Context) (h headers, err error) {
	all, _ := metadata.FromIncomingContext(ctx)
	read := func(name string, parse func(string) error) {
		values := all.Get(name)
		switch {
		case err != nil:
		case len(values) == 0:
			err = status.Errorf(codes.Unauthenticated, "%s is missing", name)
		case parse(values[0]) != nil:
			err = status.Errorf(codes.Unauthenticated, "%s is malformed", name)
		}
	}
	read("principal-id", func(text string) error {
		id, err := uuid.Parse(text)
		h.principal = id.String()
		return err
	})
	read("timestamp", func(text string) (err error) {
		h.seconds, err = strconv.ParseInt(text, 10, 64)
		return err
	})
	read("signature", func(text string) (err error) {
		h.signature, err = hex.DecodeString(text)
		return err
	})
	read("request-hash", func(text string) (err error) {
		h.hash, err = hex.DecodeString(text)
		return err
	})
	return h, err
}

// isOpen says that a request needs no signature.
func isOpen(request any) bool {
	register, is := request.(*wire.RegisterRequest)
	return is && !(register.GetIsService() && register.WorkspaceName != nil)
}

// asker is the context key of the caller.
type asker struct{}

func askerOf(ctx context.Context) *storedPrincipal {
	who, _ := ctx.Value(asker{}).(*storedPrincipal)
	return who
}

// arrive counts a call, makes it fail where it should, and finds who has sent it.
func (d *Double) arrive(ctx context.Context, method string, request any) (context.Context, error) {
	d.mutex.Lock()
	d.calls[method]++
	d.mutex.Unlock()
	if err := d.hinder(ctx, method); err != nil {
		return nil, err
	}
	if isOpen(request) {
		return ctx, nil
	}
	who, err := d.authenticate(ctx, method, request.(proto.Message))
	return context.WithValue(ctx, asker{}, who), err
}

// unary answers as real servers do: an error comes without headers, as trailers alone.
func (d *Double) unary(ctx context.Context, request any, info *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
	answer, err := d.answer(ctx, request, info.FullMethod, handle)
	if err != nil {
		_ = grpc.SetTrailer(ctx, d.date())
		return nil, err
	}
	_ = grpc.SetHeader(ctx, d.date())
	return d.alter(info.FullMethod, answer.(proto.Message)), nil
}

func (d *Double) answer(ctx context.Context, request any, method string, handle grpc.UnaryHandler) (any, error) {
	ctx, err := d.arrive(ctx, method, request)
	if err != nil {
		return nil, err
	}
	return handle(ctx, request)
}

func (d *Double) streaming(server any, stream grpc.ServerStream, info *grpc.StreamServerInfo, handle grpc.StreamHandler) error {
	err := handle(server, &signedStream{ServerStream: stream, double: d, method: info.FullMethod, ctx: stream.Context()})
	if err != nil {
		stream.SetTrailer(d.date())
	}
	return err
}

// signedStream checks the request that opens a stream.
type signedStream struct {
	grpc.ServerStream
	double *Double
	method string
	ctx    context.Context
}

func (s *signedStream) Context() context.Context { return s.ctx }

func (s *signedStream) RecvMsg(request any) error {
	if err := s.ServerStream.RecvMsg(request); err != nil {
		return err
	}
	ctx, err := s.double.arrive(s.ctx, s.method, request)
	if err != nil {
		return err
	}
	s.ctx = ctx
	return nil
}
