package zopp

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/lintel-policy/lintel/controllers/zopp/store"
	"github.com/lintel-policy/lintel/controllers/zopp/store/wire"
)

// What holds of a Double holds of a real server: these tests run against either.

var shared *Peer

func TestMain(m *testing.M) {
	var err error
	if shared, err = Start(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "starting the zopp server:", err)
		os.Exit(1)
	}
	code := m.Run()
	shared.Stop()
	os.Exit(code)
}

// site is an environment of its own, and a service that may read it.
type site struct {
	t         *testing.T
	workspace *Workspace
	*Environment
	reader *Principal
}

func makeSite(t *testing.T) *site {
	t.Helper()
	s := &site{t: t}
	var err error
	s.workspace, err = shared.MakeWorkspace(t.Context(), "acme-"+uuid.NewString())
	require.NoError(t, err)
	s.Environment, err = s.workspace.MakeEnvironment(t.Context(), "backend", "production")
	require.NoError(t, err)
	s.reader, err = s.workspace.MakeReader(t.Context(), "reader")
	require.NoError(t, err)
	return s
}

// patience is how long tests wait for an expected event of a server, and silence for an
// unexpected one.
const (
	patience = 20 * time.Second
	silence  = 300 * time.Millisecond
)

func (s *site) set(key, value string) {
	s.t.Helper()
	require.NoError(s.t, s.Set(s.t.Context(), key, value))
}

func (s *site) store(p *Principal) *store.Store {
	s.t.Helper()
	path := filepath.Join(s.t.TempDir(), "credentials.json")
	require.NoError(s.t, os.WriteFile(path, p.Credentials(), 0o600))
	credentials, err := store.FindCredentials(path, func(string) (string, bool) { return "", false })
	require.NoError(s.t, err)
	opened, err := store.New(store.Options{Server: shared.URL, Credentials: credentials})
	require.NoError(s.t, err)
	s.t.Cleanup(opened.Close)
	return opened
}

// as sends what a function sends, signed by a principal.
func as[Request proto.Message, Answer any](t *testing.T, p *Principal, method string, request Request,
	send func(context.Context, Request, ...grpc.CallOption) (Answer, error),
) (Answer, error) {
	t.Helper()
	headers, err := p.Sign(prefix+method, request, time.Now())
	require.NoError(t, err)
	return send(metadata.NewOutgoingContext(t.Context(), headers), request)
}

// unsigned is a client that signs nothing of itself.
func unsigned(t *testing.T) wire.ZoppServiceClient {
	t.Helper()
	p := &Peer{URL: shared.URL, Double: shared.Double}
	connection, err := p.dial()
	require.NoError(t, err)
	t.Cleanup(func() { _ = connection.Close() })
	return wire.NewZoppServiceClient(connection)
}

func (s *site) listRequest() *wire.ListSecretsRequest {
	return &wire.ListSecretsRequest{WorkspaceName: s.Workspace, ProjectName: s.Project, EnvironmentName: s.Name}
}

func (s *site) list() *wire.SecretList {
	s.t.Helper()
	list, err := as(s.t, s.reader, "ListSecrets", s.listRequest(), unsigned(s.t).ListSecrets)
	require.NoError(s.t, err)
	return list
}

func keysOf(list *wire.SecretList) (keys []string) {
	for _, secret := range list.GetSecrets() {
		keys = append(keys, secret.GetKey())
	}
	return keys
}

// TestWhatIsAcceptedOfARequest: who asks proves it, within a minute.
func TestWhatIsAcceptedOfARequest(t *testing.T) {
	s := makeSite(t)
	stranger, err := NewPrincipal("stranger")
	require.NoError(t, err)
	stranger.ID = uuid.NewString()
	imposter, err := NewPrincipal("imposter")
	require.NoError(t, err)
	imposter.ID = s.reader.ID
	request := s.listRequest()
	headers := func(p *Principal, request proto.Message, at time.Duration) metadata.MD {
		made, err := p.Sign(prefix+"ListSecrets", request, time.Now().Add(at))
		require.NoError(t, err)
		return made
	}
	with := func(name string, values ...string) metadata.MD {
		changed := headers(s.reader, request, 0)
		changed[name] = values
		return changed
	}
	otherMethod, err := s.reader.Sign(prefix+"GetEnvironment", request, time.Now())
	require.NoError(t, err)
	for name, c := range map[string]struct {
		headers  metadata.MD
		accepted bool
	}{
		"signed":                     {headers(s.reader, request, 0), true},
		"50 seconds old":             {headers(s.reader, request, -50*time.Second), true},
		"70 seconds old":             {headers(s.reader, request, -70*time.Second), false},
		"20 seconds ahead":           {headers(s.reader, request, 20*time.Second), true},
		"40 seconds ahead":           {headers(s.reader, request, 40*time.Second), false},
		"unsigned":                   {metadata.MD{}, false},
		"without a principal":        {with("principal-id"), false},
		"with a malformed principal": {with("principal-id", "reader"), false},
		"without a time":             {with("timestamp"), false},
		"with a malformed time":      {with("timestamp", "now"), false},
		"of another time":            {with("timestamp", fmt.Sprint(time.Now().Unix()-5)), false},
		"without a signature":        {with("signature"), false},
		"with a malformed signature": {with("signature", "zz"), false},
		"with a short signature":     {with("signature", "aabb"), false},
		"without a hash":             {with("request-hash"), false},
		"with a malformed hash":      {with("request-hash", "zz"), false},
		"with another hash":          {with("request-hash", strings.Repeat("00", 32)), false},
		"signed for another request": {headers(s.reader, &wire.ListSecretsRequest{WorkspaceName: "other"}, 0), false},
		"signed for another method":  {otherMethod, false},
		"of a stranger":              {headers(stranger, request, 0), false},
		"with the keys of another":   {headers(imposter, request, 0), false},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := unsigned(t).ListSecrets(metadata.NewOutgoingContext(t.Context(), c.headers), request)
			if c.accepted {
				require.NoError(t, err)
				return
			}
			require.Equal(t, codes.Unauthenticated, status.Code(err), "%v", err)
		})
	}
}

// TestAStreamIsSignedToo: as any call is.
func TestAStreamIsSignedToo(t *testing.T) {
	s := makeSite(t)
	stream, err := unsigned(t).WatchSecrets(t.Context(), s.watchRequest())
	require.NoError(t, err)
	_, err = stream.Recv()
	require.Equal(t, codes.Unauthenticated, status.Code(err))
}

// TestOnlyWhatAServerKnowsIsSigned checks that the server encodes a request again, without
// unknown fields.
func TestOnlyWhatAServerKnowsIsSigned(t *testing.T) {
	s := makeSite(t)
	request := s.listRequest()
	headers, err := s.reader.Sign(prefix+"ListSecrets", request, time.Now())
	require.NoError(t, err)
	request.ProtoReflect().SetUnknown(protowire.AppendVarint(protowire.AppendTag(nil, 99, protowire.VarintType), 1))
	_, err = unsigned(t).ListSecrets(metadata.NewOutgoingContext(t.Context(), headers), request)
	require.NoError(t, err)
}

// TestARequestMayBeSentAgain: nothing in it is used up.
func TestARequestMayBeSentAgain(t *testing.T) {
	s := makeSite(t)
	headers, err := s.reader.Sign(prefix+"ListSecrets", s.listRequest(), time.Now())
	require.NoError(t, err)
	client := unsigned(t)
	for range 2 {
		_, err = client.ListSecrets(metadata.NewOutgoingContext(t.Context(), headers), s.listRequest())
		require.NoError(t, err)
	}
}

// TestAServerTellsItsTime: with an answer, and with an error.
func TestAServerTellsItsTime(t *testing.T) {
	s := makeSite(t)
	for name, at := range map[string]time.Time{"answer": time.Now(), "error": time.Now().Add(-time.Hour)} {
		t.Run(name, func(t *testing.T) {
			headers, err := s.reader.Sign(prefix+"ListSecrets", s.listRequest(), at)
			require.NoError(t, err)
			var header, trailer metadata.MD
			_, _ = unsigned(t).ListSecrets(metadata.NewOutgoingContext(t.Context(), headers), s.listRequest(), grpc.Header(&header), grpc.Trailer(&trailer))
			dates := append(header.Get("date"), trailer.Get("date")...)
			require.Len(t, dates, 1)
			date, err := http.ParseTime(dates[0])
			require.NoError(t, err)
			require.WithinDuration(t, time.Now(), date, 5*time.Second)
		})
	}
}

// TestWhoHasAccess: a workspace's key comes first, and then a permission.
func TestWhoHasAccess(t *testing.T) {
	s := makeSite(t)
	other := makeSite(t)
	client := unsigned(t)
	codeFor := func(p *Principal) codes.Code {
		_, err := as(t, p, "ListSecrets", s.listRequest(), client.ListSecrets)
		_, again := as(t, p, "GetEnvironment", &wire.GetEnvironmentRequest{WorkspaceName: s.Workspace, ProjectName: s.Project, EnvironmentName: s.Name}, client.GetEnvironment)
		require.Equal(t, status.Code(err), status.Code(again))
		return status.Code(err)
	}
	keysFor := func(p *Principal) codes.Code {
		_, err := as(t, p, "GetWorkspaceKeys", &wire.GetWorkspaceKeysRequest{WorkspaceName: s.Workspace}, client.GetWorkspaceKeys)
		return status.Code(err)
	}
	require.Equal(t, codes.NotFound, codeFor(other.reader), "a service without the key")
	require.Equal(t, codes.NotFound, keysFor(other.reader))

	require.NoError(t, s.workspace.Grant(t.Context(), other.reader))
	require.Equal(t, codes.PermissionDenied, codeFor(other.reader), "with the key alone")
	require.Equal(t, codes.OK, keysFor(other.reader))

	require.NoError(t, s.workspace.Permit(t.Context(), other.reader, wire.Role_READ))
	require.Equal(t, codes.OK, codeFor(other.reader))
	require.NoError(t, s.workspace.Withdraw(t.Context(), other.reader))
	require.Equal(t, codes.PermissionDenied, codeFor(other.reader))

	require.NoError(t, s.Permit(t.Context(), other.reader, wire.Role_WRITE))
	require.Equal(t, codes.OK, codeFor(other.reader), "in the environment alone")
	require.NoError(t, s.Withdraw(t.Context(), other.reader))
	require.Equal(t, codes.PermissionDenied, codeFor(other.reader))
	require.Error(t, s.Withdraw(t.Context(), other.reader), "there is nothing to withdraw")
}

// TestWhatAServiceMayNotDo: write with READ, or make anything.
func TestWhatAServiceMayNotDo(t *testing.T) {
	s := makeSite(t)
	client := unsigned(t)
	upsert := &wire.UpsertSecretRequest{WorkspaceName: s.Workspace, ProjectName: s.Project, EnvironmentName: s.Name, Key: "K", Nonce: random(24), Ciphertext: random(20)}
	_, err := as(t, s.reader, "UpsertSecret", upsert, client.UpsertSecret)
	require.Equal(t, codes.PermissionDenied, status.Code(err))
	_, err = as(t, s.reader, "CreateEnvironment", &wire.CreateEnvironmentRequest{WorkspaceName: s.Workspace, ProjectName: s.Project, Name: "other"}, client.CreateEnvironment)
	require.Equal(t, codes.Unauthenticated, status.Code(err))
	require.NoError(t, s.workspace.Permit(t.Context(), s.reader, wire.Role_WRITE))
	_, err = as(t, s.reader, "UpsertSecret", upsert, client.UpsertSecret)
	require.NoError(t, err)
}

// TestWhatIsMissing checks requests for each kind of missing item.
func TestWhatIsMissing(t *testing.T) {
	s := makeSite(t)
	for name, request := range map[string]*wire.ListSecretsRequest{
		"workspace":   {WorkspaceName: "none-" + s.Workspace, ProjectName: s.Project, EnvironmentName: s.Name},
		"project":     {WorkspaceName: s.Workspace, ProjectName: "none", EnvironmentName: s.Name},
		"environment": {WorkspaceName: s.Workspace, ProjectName: s.Project, EnvironmentName: "none"},
		"names":       {},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := as(t, s.reader, "ListSecrets", request, unsigned(t).ListSecrets)
			require.Equal(t, codes.NotFound, status.Code(err), "%v", err)
		})
	}
	_, err := as(t, s.reader, "GetSecret", &wire.GetSecretRequest{WorkspaceName: s.Workspace, ProjectName: s.Project, EnvironmentName: s.Name, Key: "NONE"}, unsigned(t).GetSecret)
	require.Equal(t, codes.NotFound, status.Code(err))
	require.Equal(t, codes.NotFound, codeOf(s.Delete(t.Context(), "NONE")))
	require.Zero(t, s.list().GetVersion(), "nothing was changed by that")
}

func codeOf(err error) codes.Code { return status.Code(err) }

// TestVersions: each write raises it, one that changes nothing too.
func TestVersions(t *testing.T) {
	s := makeSite(t)
	require.Zero(t, s.list().GetVersion())
	s.set("B", "1")
	s.set("A", "1")
	s.set("A", "1")
	list := s.list()
	require.EqualValues(t, 3, list.GetVersion())
	require.Equal(t, []string{"A", "B"}, keysOf(list))
	require.NoError(t, s.Delete(t.Context(), "B"))
	list = s.list()
	require.EqualValues(t, 4, list.GetVersion())
	require.Equal(t, []string{"A"}, keysOf(list))
	one, err := as(t, s.reader, "GetSecret", &wire.GetSecretRequest{WorkspaceName: s.Workspace, ProjectName: s.Project, EnvironmentName: s.Name, Key: "A"}, unsigned(t).GetSecret)
	require.NoError(t, err)
	require.True(t, proto.Equal(list.GetSecrets()[0], one))
}

// TestWhatAServerDoesNotLookAt: lengths, names and values.
func TestWhatAServerDoesNotLookAt(t *testing.T) {
	s := makeSite(t)
	require.NoError(t, s.SetSealed(t.Context(), "short", []byte{1}, []byte{2}))
	require.NoError(t, s.SetSealed(t.Context(), "empty", nil, nil))
	require.NoError(t, s.SetSealed(t.Context(), "large", random(24), random(1<<20)))
	require.Equal(t, []string{"empty", "large", "short"}, keysOf(s.list()))
	s.set("a key/with:anything é", "x")
	_, err := s.workspace.MakeEnvironment(t.Context(), "a:b", "c/d, é")
	require.NoError(t, err)
	_, err = s.workspace.MakeEnvironment(t.Context(), "a:b", "c/d, é")
	require.Equal(t, codes.AlreadyExists, codeOf(err))
}

// TestValuesAreReadAsTheyWereWritten: by the client of Lintel, which has its own of all
// that is signed and encrypted.
func TestValuesAreReadAsTheyWereWritten(t *testing.T) {
	s := makeSite(t)
	want := map[string]string{
		"DATABASE_URL": "postgres://db", "EMPTY": "", "BINARY": "\x00\xff\xfe", "LARGE": strings.Repeat("x", 1<<20), "naïve key": "é",
	}
	for key, value := range want {
		s.set(key, value)
	}
	opened := s.store(s.reader)
	contents, err := opened.List(t.Context(), s.Environment.Environment)
	require.NoError(t, err)
	got := map[string]string{}
	for _, value := range contents.Values {
		require.NoError(t, value.Err)
		got[value.Key] = string(value.Value)
	}
	require.Equal(t, want, got)
	require.EqualValues(t, len(want), contents.Version)

	strange, err := s.workspace.MakeEnvironment(t.Context(), "a:b", "c/d, é")
	require.NoError(t, err)
	require.NoError(t, strange.Set(t.Context(), "A", "1"))
	contents, err = opened.List(t.Context(), strange.Environment)
	require.NoError(t, err)
	require.Equal(t, []store.Value{{Key: "A", Value: []byte("1")}}, contents.Values)
}

func (s *site) watchRequest() *wire.WatchSecretsRequest {
	return &wire.WatchSecretsRequest{WorkspaceName: s.Workspace, ProjectName: s.Project, EnvironmentName: s.Name}
}

// watching is an open stream with its events so far.
type watching struct {
	t      *testing.T
	events chan *wire.WatchSecretsResponse
	ended  chan error
}

// watch opens a stream, and returns once it is.
func (s *site) watch(p *Principal, request *wire.WatchSecretsRequest) *watching {
	s.t.Helper()
	stream, err := as(s.t, p, "WatchSecrets", request, unsigned(s.t).WatchSecrets)
	require.NoError(s.t, err)
	opened := make(chan error, 1)
	w := &watching{s.t, make(chan *wire.WatchSecretsResponse, 1000), make(chan error, 1)}
	go func() {
		_, err := stream.Header()
		opened <- err
		for {
			event, err := stream.Recv()
			if err != nil {
				w.ended <- err
				return
			}
			w.events <- event
		}
	}()
	select {
	case err := <-opened:
		require.NoError(s.t, err)
	case <-time.After(patience):
		require.Fail(s.t, "the server sends no headers before there is an event")
	}
	return w
}

func (w *watching) next() *wire.SecretChangeEvent {
	w.t.Helper()
	select {
	case response := <-w.events:
		require.NotNil(w.t, response.GetEvent(), "%v", response)
		return response.GetEvent()
	case err := <-w.ended:
		require.NoError(w.t, err, "the stream has ended")
	case <-time.After(patience):
		require.Fail(w.t, "no event")
	}
	return nil
}

func (w *watching) quiet() {
	w.t.Helper()
	select {
	case response := <-w.events:
		require.Fail(w.t, "an event", "%v", response)
	case err := <-w.ended:
		require.NoError(w.t, err, "the stream has ended")
	case <-time.After(silence):
	}
}

// TestEvents: of what comes after the subscription, as updated or deleted.
func TestEvents(t *testing.T) {
	s := makeSite(t)
	s.set("BEFORE", "1")
	other, err := s.workspace.MakeEnvironment(t.Context(), "backend", "staging")
	require.NoError(t, err)
	request := s.watchRequest()
	request.SinceVersion = proto.Int64(0)
	w := s.watch(s.reader, request)
	w.quiet() // nothing is replayed, for any version
	require.NoError(t, other.Set(t.Context(), "ELSEWHERE", "1"))
	s.set("NEW", "1")
	s.set("NEW", "2")
	require.NoError(t, s.Delete(t.Context(), "NEW"))
	for i, kind := range []wire.SecretChangeEvent_EventType{wire.SecretChangeEvent_UPDATED, wire.SecretChangeEvent_UPDATED, wire.SecretChangeEvent_DELETED} {
		event := w.next()
		require.Equal(t, "NEW", event.GetKey())
		require.EqualValues(t, 2+i, event.GetVersion())
		require.Equal(t, kind, event.GetEventType())
		require.WithinDuration(t, time.Now(), time.Unix(event.GetTimestamp(), 0), patience)
	}
	w.quiet()
}

// TestAWithdrawnPermissionEndsAStream: at the next change.
func TestAWithdrawnPermissionEndsAStream(t *testing.T) {
	s := makeSite(t)
	w := s.watch(s.reader, s.watchRequest())
	s.set("A", "1")
	w.next()
	require.NoError(t, s.workspace.Withdraw(t.Context(), s.reader))
	w.quiet()
	s.set("A", "2")
	select {
	case err := <-w.ended:
		require.Equal(t, codes.PermissionDenied, status.Code(err))
	case <-time.After(patience):
		require.Fail(t, "the stream goes on")
	}
	require.Empty(t, w.events)
}

// TestAnEnvironmentThatIsMadeAgain checks that a re-created environment is a different one, and
// that streams of the old one receive nothing.
func TestAnEnvironmentThatIsMadeAgain(t *testing.T) {
	s := makeSite(t)
	s.set("OLD", "1")
	s.set("OLD", "2")
	opened := s.store(s.reader)
	before, err := opened.List(t.Context(), s.Environment.Environment)
	require.NoError(t, err)
	w := s.watch(s.reader, s.watchRequest())
	require.NoError(t, s.Remove(t.Context()))
	_, err = opened.List(t.Context(), s.Environment.Environment)
	var problem *store.Error
	require.ErrorAs(t, err, &problem)
	require.Equal(t, store.ReasonNotFound, problem.Reason)
	require.NoError(t, s.make(t.Context()))
	require.Zero(t, s.list().GetVersion())
	s.set("NEW", "1")
	after, err := opened.List(t.Context(), s.Environment.Environment)
	require.NoError(t, err)
	require.NotEqual(t, before.ID, after.ID)
	require.Equal(t, []store.Value{{Key: "NEW", Value: []byte("1")}}, after.Values)
	require.EqualValues(t, 1, after.Version)
	w.quiet()
}

// TestWhoLagsLosesEvents checks that the server silently drops the oldest events of a slow
// reader. Long keys fill the buffers between the server and the reader.
func TestWhoLagsLosesEvents(t *testing.T) {
	s := makeSite(t)
	stream, err := as(t, s.reader, "WatchSecrets", s.watchRequest(), unsigned(t).WatchSecrets)
	require.NoError(t, err)
	_, err = stream.Header()
	require.NoError(t, err)
	const writes = 500
	nonce, long := random(24), strings.Repeat("k", 8<<10)
	for i := range writes {
		require.NoError(t, s.SetSealed(t.Context(), fmt.Sprintf("%s%d", long, i%10), nonce, nil))
	}
	var versions []int64
	for len(versions) == 0 || versions[len(versions)-1] < writes {
		response, err := stream.Recv()
		require.NoError(t, err)
		versions = append(versions, response.GetEvent().GetVersion())
	}
	t.Logf("%d of %d events", len(versions), writes)
	require.Less(t, len(versions), writes)
	require.GreaterOrEqual(t, len(versions), Capacity)
	latest := versions[len(versions)-Capacity:]
	for i, version := range latest {
		require.EqualValues(t, writes-Capacity+1+i, version, "the latest %d are kept", Capacity)
	}
}

// TestAChangeDuringAListIsNotLost checks that a stream which was opened before the list reports
// the change.
func TestAChangeDuringAListIsNotLost(t *testing.T) {
	s := makeSite(t)
	opened := s.store(s.reader)
	watch, err := opened.Watch(t.Context(), s.Environment.Environment)
	require.NoError(t, err)
	defer watch.Close()
	want := map[string]string{}
	for i := range 20 {
		key := fmt.Sprintf("K%d", i)
		s.set(key, "1")
		want[key] = "1"
		event, err := watch.Next()
		require.NoError(t, err)
		require.Equal(t, store.Event{Type: store.Updated, Key: key, Version: int64(i + 1)}, event)
		contents, err := opened.List(t.Context(), s.Environment.Environment)
		require.NoError(t, err)
		got := map[string]string{}
		for _, value := range contents.Values {
			got[value.Key] = string(value.Value)
		}
		require.Equal(t, want, got, "what an event tells is there to be read")
	}
}
