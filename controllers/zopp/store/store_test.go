package store_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/lintel-policy/lintel/controllers/zopp/store"
	"github.com/lintel-policy/lintel/controllers/zopp/store/wire"
	"github.com/lintel-policy/lintel/test/zopp"
)

// site is a double with acme/backend/production, and its readers.
type site struct {
	t         *testing.T
	peer      *zopp.Peer
	workspace *zopp.Workspace
	*zopp.Environment
	reader *zopp.Principal
	// file holds the credentials.
	file string
}

func makeSite(t *testing.T) *site { return makeSiteOn(t, zopp.NewDouble()) }

func makeSiteOn(t *testing.T, d *zopp.Double) *site {
	t.Helper()
	s := &site{t: t, file: filepath.Join(t.TempDir(), "credentials.json")}
	var err error
	s.peer, err = zopp.StartDouble(t.Context(), d)
	require.NoError(t, err)
	t.Cleanup(s.peer.Stop)
	s.workspace, err = s.peer.MakeWorkspace(t.Context(), "acme")
	require.NoError(t, err)
	s.Environment, err = s.workspace.MakeEnvironment(t.Context(), "backend", "production")
	require.NoError(t, err)
	s.reader, err = s.workspace.MakeReader(t.Context(), "k8s-operator")
	require.NoError(t, err)
	s.use(s.reader)
	return s
}

// use selects the current principal.
func (s *site) use(p *zopp.Principal) {
	s.t.Helper()
	require.NoError(s.t, os.WriteFile(s.file, p.Credentials(), 0o600))
}

func (s *site) double() *zopp.Double { return s.peer.Double }

func (s *site) open(change func(*store.Options)) *store.Store {
	s.t.Helper()
	credentials, err := store.FindCredentials(s.file, func(string) (string, bool) { return "", false })
	require.NoError(s.t, err)
	options := store.Options{Server: s.peer.URL, Credentials: credentials}
	if change != nil {
		change(&options)
	}
	opened, err := store.New(options)
	require.NoError(s.t, err)
	s.t.Cleanup(opened.Close)
	return opened
}

func (s *site) set(key, value string) {
	s.t.Helper()
	require.NoError(s.t, s.Set(s.t.Context(), key, value))
}

// list returns the contents of an environment as text.
func list(t *testing.T, opened *store.Store, e *zopp.Environment) map[string]string {
	t.Helper()
	contents, err := opened.List(t.Context(), e.Environment)
	require.NoError(t, err)
	all := map[string]string{}
	for _, value := range contents.Values {
		require.NoError(t, value.Err)
		all[value.Key] = string(value.Value)
	}
	return all
}

func problemOf(t *testing.T, err error) *store.Error {
	t.Helper()
	var problem *store.Error
	require.ErrorAs(t, err, &problem)
	return problem
}

func failing(t *testing.T, opened *store.Store, e *zopp.Environment) *store.Error {
	t.Helper()
	_, err := opened.List(t.Context(), e.Environment)
	return problemOf(t, err)
}

// TestAKeyIsUnwrappedOnce: while the environment has the same.
func TestAKeyIsUnwrappedOnce(t *testing.T) {
	s := makeSite(t)
	s.set("A", "1")
	opened := s.open(nil)
	for range 3 {
		require.Equal(t, map[string]string{"A": "1"}, list(t, opened, s.Environment))
	}
	require.Equal(t, 1, s.double().Calls("GetWorkspaceKeys"))
	require.Equal(t, 3, s.double().Calls("ListSecrets"))
	require.Equal(t, 3, s.double().Calls("GetEnvironment"))
	require.Zero(t, s.double().Calls("GetSecret"))
	require.Equal(t, 2, s.double().Connections(), "one is of who writes")

	require.NoError(t, s.Remake(t.Context()))
	s.set("B", "2")
	require.Equal(t, map[string]string{"B": "2"}, list(t, opened, s.Environment), "D6")
	require.Equal(t, 2, s.double().Calls("GetWorkspaceKeys"))
	require.NoError(t, s.Rotate(t.Context(), map[string]string{"B": "3"}))
	require.Equal(t, map[string]string{"B": "3"}, list(t, opened, s.Environment), "D6")
	require.Equal(t, 3, s.double().Calls("GetWorkspaceKeys"))
}

// TestAForgottenKey checks that a dropped key is unwrapped again.
func TestAForgottenKey(t *testing.T) {
	s := makeSite(t)
	opened := s.open(nil)
	list(t, opened, s.Environment)
	opened.Forget(s.Environment.Environment)
	opened.Forget(s.Environment.Environment)
	list(t, opened, s.Environment)
	require.Equal(t, 2, s.double().Calls("GetWorkspaceKeys"))
}

// TestAnEnvironmentIsMadeAgainBetweenTwoCalls: the values are those of the new one.
func TestAnEnvironmentIsMadeAgainBetweenTwoCalls(t *testing.T) {
	s := makeSite(t)
	opened := s.open(nil)
	var once sync.Once
	s.double().Inject(zopp.Fault{Method: "GetEnvironment", Alter: func(proto.Message) {
		once.Do(func() { // the answer is of before
			require.NoError(t, s.Remake(context.Background()))
			require.NoError(t, s.Set(context.Background(), "B", "2"))
		})
	}})
	require.Equal(t, map[string]string{"B": "2"}, list(t, opened, s.Environment))
}

// TestOneDamagedValueHidesNoOther: D7, and it is said.
func TestOneDamagedValueHidesNoOther(t *testing.T) {
	s := makeSite(t)
	s.set("A", "1")
	s.set("C", "3")
	require.NoError(t, s.SetSealed(t.Context(), "B", []byte{1}, []byte("2")))
	contents, err := s.open(nil).List(t.Context(), s.Environment.Environment)
	require.NoError(t, err)
	require.Len(t, contents.Values, 3)
	require.Equal(t, store.Value{Key: "A", Value: []byte("1")}, contents.Values[0])
	require.Equal(t, store.Value{Key: "C", Value: []byte("3")}, contents.Values[2])
	damaged := contents.Values[1]
	require.Equal(t, "B", damaged.Key)
	require.Nil(t, damaged.Value)
	require.Equal(t, store.ReasonUndecryptable, problemOf(t, damaged.Err).Reason)
	require.EqualError(t, damaged.Err, "a value of acme/backend/production cannot be decrypted: its nonce has 1 bytes, and must have 24; set it again with `zopp secret set`")
}

// TestAServerCannotSwapValues: nor send one twice.
func TestAServerCannotSwapValues(t *testing.T) {
	s := makeSite(t)
	s.set("A", "1")
	s.set("B", "2")
	for name, c := range map[string]struct {
		alter func(*wire.SecretList)
		err   string
	}{
		"swapped": {func(l *wire.SecretList) { l.Secrets[0].Key, l.Secrets[1].Key = "B", "A" }, "a value of acme/backend/production cannot be decrypted: it is damaged, or encrypted by another key or for another place; set it again with `zopp secret set`"},
		"twice":   {func(l *wire.SecretList) { l.Secrets = append(l.Secrets, l.Secrets...) }, "the zopp server has sent a value of acme/backend/production twice"},
	} {
		t.Run(name, func(t *testing.T) {
			defer s.double().Inject(zopp.Fault{Method: "ListSecrets", Alter: func(m proto.Message) { c.alter(m.(*wire.SecretList)) }})()
			contents, err := s.open(nil).List(t.Context(), s.Environment.Environment)
			require.NoError(t, err)
			require.Len(t, contents.Values, 2)
			for _, value := range contents.Values {
				require.EqualError(t, value.Err, c.err)
			}
		})
	}
}

// TestGarbageIsAnError: D14; of any length.
func TestGarbageIsAnError(t *testing.T) {
	s := makeSite(t)
	s.set("A", "1")
	for name, c := range map[string]struct {
		method string
		alter  func(proto.Message)
		says   string
	}{
		"no ephemeral key":       {"GetWorkspaceKeys", func(m proto.Message) { m.(*wire.WorkspaceKeys).EphemeralPub = nil }, "the key of workspace acme cannot be unwrapped by principal"},
		"a short workspace key":  {"GetWorkspaceKeys", func(m proto.Message) { m.(*wire.WorkspaceKeys).KekWrapped = []byte{1} }, "the key of workspace acme cannot be unwrapped by principal"},
		"a short nonce":          {"GetWorkspaceKeys", func(m proto.Message) { m.(*wire.WorkspaceKeys).KekNonce = []byte{1} }, "the key of workspace acme cannot be unwrapped by principal"},
		"no environment":         {"GetEnvironment", func(m proto.Message) { proto.Reset(m) }, "the key of acme/backend/production cannot be unwrapped with the key of its workspace"},
		"a long environment key": {"GetEnvironment", func(m proto.Message) { m.(*wire.Environment).DekWrapped = make([]byte, 1000) }, "the key of acme/backend/production cannot be unwrapped with the key of its workspace"},
	} {
		t.Run(name, func(t *testing.T) {
			defer s.double().Inject(zopp.Fault{Method: c.method, Alter: c.alter})()
			problem := failing(t, s.open(nil), s.Environment)
			require.Equal(t, store.ReasonUndecryptable, problem.Reason)
			require.True(t, problem.Permanent())
			require.Contains(t, problem.Message, c.says)
		})
	}
}

// TestReasons checks the reason and the next step for each response of a server.
func TestReasons(t *testing.T) {
	s := makeSite(t)
	opened := s.open(nil)
	stranger, err := s.workspace.MakeService(t.Context(), "stranger")
	require.NoError(t, err)
	unknown, err := zopp.NewPrincipal("unknown")
	require.NoError(t, err)
	unknown.ID = "018f0000-0000-7000-8000-000000000009"
	missing := *s.Environment
	missing.Name = "staging"
	fail := func(err error) func() func() {
		return func() func() { return s.double().Inject(zopp.Fault{Err: err}) }
	}
	use := func(p *zopp.Principal) func() func() {
		return func() func() { s.use(p); return func() { s.use(s.reader) } }
	}
	for name, c := range map[string]struct {
		with      func() func()
		of        *zopp.Environment
		reason    store.Reason
		says      string
		permanent bool
	}{
		"missing":         {of: &missing, reason: store.ReasonNotFound, permanent: true, says: `acme/backend/staging does not exist, or principal "k8s-operator" (` + s.reader.ID + `) has no access to its workspace: the zopp server returned "environment not found"; compare the names with ` + "`zopp environment list`, or grant the principal access with `zopp workspace grant-principal-access -w acme -p " + s.reader.ID + "`"},
		"not permitted":   {with: use(stranger), reason: store.ReasonDenied, permanent: true, says: "may not read acme/backend/production: the zopp server returned \"no permission\"; an administrator of the workspace can permit it with `zopp permission set -w acme --principal " + stranger.ID + " --role read`"},
		"unknown":         {with: use(unknown), reason: store.ReasonUnauthenticated, permanent: true, says: `rejects the requests of principal "unknown" (018f0000-0000-7000-8000-000000000009): "unknown principal"; check that the credentials are for this server, and current`},
		"no credentials":  {with: func() func() { require.NoError(t, os.Remove(s.file)); return func() { s.use(s.reader) } }, reason: store.ReasonInvalidCredentials, permanent: true, says: "there is no file " + s.file},
		"a deadline":      {with: fail(status.Error(codes.Canceled, "stream terminated by RST_STREAM with error code: CANCEL")), reason: store.ReasonUnreachable, says: "did not answer within 10s"},
		"an internal one": {with: fail(status.Error(codes.Internal, strings.Repeat("long\n", 100))), reason: store.ReasonServerFailed, says: `(Internal); check its log`},
		"no zopp server":  {with: fail(status.Error(codes.Unimplemented, "unknown service")), reason: store.ReasonServerFailed, says: "is not a zopp server that Lintel supports"},
		"overloaded":      {with: fail(status.Error(codes.Unavailable, "come back later")), reason: store.ReasonUnreachable, says: `cannot be reached: "come back later"`},
	} {
		t.Run(name, func(t *testing.T) {
			if c.with != nil {
				defer c.with()()
			}
			if c.of == nil {
				c.of = s.Environment
			}
			problem := failing(t, opened, c.of)
			require.Equal(t, c.reason, problem.Reason, problem.Message)
			require.Equal(t, c.permanent, problem.Permanent())
			require.Contains(t, problem.Message, c.says)
			require.NotContains(t, problem.Message, "\n")
			require.Less(t, len(problem.Message), 700)
			_, err := opened.Watch(t.Context(), c.of.Environment)
			require.Equal(t, c.reason, problemOf(t, err).Reason, "a stream returns the same error")
			require.Contains(t, err.Error(), c.says)
		})
	}
	require.Empty(t, list(t, opened, s.Environment), "and all is well again")
}

// TestClocksThatDiffer checks that the message contains the server's time, which the server
// returns.
func TestClocksThatDiffer(t *testing.T) {
	s := makeSite(t)
	for name, ahead := range map[string]time.Duration{"behind": -2 * time.Minute, "ahead": 45 * time.Second} {
		t.Run(name, func(t *testing.T) {
			opened := s.open(func(o *store.Options) { o.Now = func() time.Time { return time.Now().Add(ahead) } })
			_, watching := opened.Watch(t.Context(), s.Environment.Environment)
			for _, problem := range []*store.Error{failing(t, opened, s.Environment), problemOf(t, watching)} {
				require.Equal(t, store.ReasonUnauthenticated, problem.Reason)
				require.Regexp(t, `the clocks differ by (2m0s|1m59s|45s|44s|46s): Lintel's shows 20\d\d-.*Z, and the server's 20.*Z; correct the wrong one$`, problem.Message)
			}
		})
	}
}

// TestAServerThatIsAway checks that the message names the server, and that reads and streams
// recover at the same address.
func TestAServerThatIsAway(t *testing.T) {
	s := makeSite(t)
	s.set("A", "1")
	opened := s.open(nil)
	list(t, opened, s.Environment)
	watch, err := opened.Watch(t.Context(), s.Environment.Environment)
	require.NoError(t, err)
	s.double().Stop()
	_, err = watch.Next()
	require.Equal(t, store.ReasonUnreachable, problemOf(t, err).Reason, err.Error())
	problem := failing(t, opened, s.Environment)
	require.Equal(t, store.ReasonUnreachable, problem.Reason)
	require.False(t, problem.Permanent())
	require.Contains(t, problem.Message, "the zopp server "+s.peer.URL+" cannot be reached")
	_, err = opened.Watch(t.Context(), s.Environment.Environment)
	require.Equal(t, store.ReasonUnreachable, problemOf(t, err).Reason)
	require.NoError(t, s.double().Start())
	require.EventuallyWithT(t, func(c *assert) {
		contents, err := opened.List(t.Context(), s.Environment.Environment)
		if err != nil || len(contents.Values) != 1 {
			c.Errorf("%v", err)
		}
	}, 2*time.Minute, 20*time.Millisecond)
}

// TestAServerThatDrains checks a server that leaves its streams open and sends nothing on them:
// the streams end, and the reopened ones are on the server that replaces it.
func TestAServerThatDrains(t *testing.T) {
	s := makeSite(t)
	opened := s.open(nil)
	for range 3 {
		watch, err := opened.Watch(t.Context(), s.Environment.Environment)
		require.NoError(t, err)
		s.double().Drain()
		require.NoError(t, s.double().Start())
		_, err = watch.Next()
		require.Equal(t, store.ReasonEnded, problemOf(t, err).Reason, err.Error())
		s.double().Drained()
		var again *store.Watch
		require.EventuallyWithT(t, func(c *assert) {
			if again, err = opened.Watch(t.Context(), s.Environment.Environment); err != nil {
				c.Errorf("%v", err)
			}
		}, 2*time.Minute, 20*time.Millisecond)
		s.set("A", "1")
		_, err = again.Next()
		require.NoError(t, err)
		again.Close()
	}
}

// TestACallThatHangs: ends, as does a stream that is not accepted.
func TestACallThatHangs(t *testing.T) {
	s := makeSite(t)
	opened := s.open(func(o *store.Options) { o.Timeout = 100 * time.Millisecond })
	defer s.double().Inject(zopp.Fault{Hang: true})()
	problem := failing(t, opened, s.Environment)
	require.Equal(t, store.ReasonUnreachable, problem.Reason)
	require.Equal(t, "the zopp server "+s.peer.URL+" did not answer within 100ms; check whether it is overloaded, and whether a proxy or firewall blocks calls", problem.Message)
	_, err := opened.Watch(t.Context(), s.Environment.Environment)
	require.Equal(t, problem.Message, err.Error())
	require.Zero(t, s.double().Streams())
}

// TestACallThatIsGivenUp: is not the server's fault.
func TestACallThatIsGivenUp(t *testing.T) {
	s := makeSite(t)
	opened := s.open(nil)
	ctx, cancel := context.WithCancel(t.Context())
	watch, err := opened.Watch(ctx, s.Environment.Environment)
	require.NoError(t, err)
	cancel()
	_, err = watch.Next()
	require.ErrorIs(t, err, context.Canceled)
	_, err = opened.List(ctx, s.Environment.Environment)
	require.ErrorIs(t, err, context.Canceled)
	_, err = opened.Watch(ctx, s.Environment.Environment)
	require.ErrorIs(t, err, context.Canceled)
	var problem *store.Error
	require.False(t, errors.As(err, &problem))
}

// TestEvents checks each type of event, and those that only later servers send.
func TestEvents(t *testing.T) {
	s := makeSite(t)
	opened := s.open(nil)
	watch, err := opened.Watch(t.Context(), s.Environment.Environment)
	require.NoError(t, err)
	require.Equal(t, 1, s.double().Streams())
	expect := func(want store.Event) {
		t.Helper()
		event, err := watch.Next()
		require.NoError(t, err)
		require.Equal(t, want, event)
	}
	s.set("A", "1")
	expect(store.Event{Type: store.Updated, Key: "A", Version: 1})
	s.double().EmitCreated()
	s.set("B", "1")
	expect(store.Event{Type: store.Created, Key: "B", Version: 2})
	require.NoError(t, s.Delete(t.Context(), "A"))
	expect(store.Event{Type: store.Deleted, Key: "A", Version: 3})
	s.double().RequireResync(s.Environment.Environment)
	expect(store.Event{Type: store.Resync, Version: 3})
	s.double().Drop(1)
	s.set("A", "2")
	remove := s.double().Inject(zopp.Fault{Method: "WatchSecrets", Alter: func(m proto.Message) {
		m.(*wire.WatchSecretsResponse).GetEvent().EventType = 77
	}})
	s.set("A", "3")
	expect(store.Event{Type: store.Resync, Version: 5})
	remove()
	remove = s.double().Inject(zopp.Fault{Method: "WatchSecrets", Alter: proto.Reset})
	s.set("A", "4")
	expect(store.Event{Type: store.Resync})
	remove()

	s.double().EndStreams(nil)
	_, err = watch.Next()
	require.Equal(t, store.ReasonEnded, problemOf(t, err).Reason)
	require.EqualError(t, err, "the zopp server has ended the stream of changes of acme/backend/production")
	watch, err = opened.Watch(t.Context(), s.Environment.Environment)
	require.NoError(t, err)
	s.double().EndStreams(status.Error(codes.Internal, "x"))
	_, err = watch.Next()
	require.Equal(t, store.ReasonServerFailed, problemOf(t, err).Reason)
	watch, err = opened.Watch(t.Context(), s.Environment.Environment)
	require.NoError(t, err)
	require.NoError(t, s.workspace.Withdraw(t.Context(), s.reader))
	s.set("A", "5")
	_, err = watch.Next()
	require.Equal(t, store.ReasonDenied, problemOf(t, err).Reason)
	require.Contains(t, err.Error(), "zopp permission set -w acme")
}

// TestManyStreamsShareAConnection checks also that a closed stream is released. Where there are
// too many streams for one connection, calls do not wait for them.
func TestManyStreamsShareAConnection(t *testing.T) {
	s := makeSite(t)
	opened := s.open(nil)
	var all []*store.Watch
	watch := func(environments int) {
		for len(all) < environments {
			e, err := s.workspace.MakeEnvironment(t.Context(), "many", fmt.Sprint(len(all)))
			require.NoError(t, err)
			watch, err := opened.Watch(t.Context(), e.Environment)
			require.NoError(t, err)
			all = append(all, watch)
		}
	}
	connections := func() int { return s.double().Connections() - 1 } // one is the writer's
	watch(50)
	require.Equal(t, 50, s.double().Streams())
	require.Equal(t, 1, connections())
	watch(zopp.StreamsEach + 1)
	require.Equal(t, zopp.StreamsEach+1, s.double().Streams())
	require.Equal(t, 2, connections())
	list(t, opened, s.Environment)

	for _, watch := range all {
		watch.Close()
	}
	require.Eventually(t, func() bool { return s.double().Streams() == 0 && connections() == 1 }, 2*time.Minute, 10*time.Millisecond)
	opened.Close()
	require.Eventually(t, func() bool { return connections() == 0 }, 2*time.Minute, 10*time.Millisecond)
}

// TestServersLimitTheStreamsOfAConnection: those beyond it use others, also where all are
// opened at the same time, and calls always find room.
func TestServersLimitTheStreamsOfAConnection(t *testing.T) {
	t.Parallel()
	s := makeSite(t)
	var environments []store.Environment
	for i := range 21 {
		e, err := s.workspace.MakeEnvironment(t.Context(), "limited", fmt.Sprint(i))
		require.NoError(t, err)
		environments = append(environments, e.Environment)
	}
	for limit, connections := range map[uint32]int{20: 2, 10: 4, 2: 22, 1: 22} {
		s.double().Stop()
		s.double().StreamLimit = limit
		require.NoError(t, s.double().Start())
		opened := s.open(nil)
		var opening sync.WaitGroup
		errs := make(chan error, len(environments))
		for _, e := range environments {
			opening.Go(func() {
				watch, err := opened.Watch(t.Context(), e)
				if err == nil {
					t.Cleanup(watch.Close)
				}
				errs <- err
			})
		}
		opening.Wait()
		for range environments {
			require.NoError(t, <-errs)
		}
		require.Equal(t, len(environments), s.double().Streams())
		require.Equal(t, connections, s.double().Connections(), "limit %d", limit)
		require.NoError(t, opened.Check(t.Context()))
		require.NoError(t, opened.Reconnect(t.Context()))
		require.Equal(t, len(environments), s.double().Streams(), "connections that answer are kept")
		list(t, opened, s.Environment)

		// Filling the first connection with calls is not an outage.
		end := s.double().Inject(zopp.Fault{Method: "ListSecrets", Hang: true})
		var calls sync.WaitGroup
		before := s.double().Calls("ListSecrets")
		for range limit {
			calls.Go(func() { _, _ = opened.List(t.Context(), s.Environment.Environment) })
		}
		require.Eventually(t, func() bool { return s.double().Calls("ListSecrets") > before }, time.Minute, time.Millisecond)
		require.NoError(t, opened.Check(t.Context()), "limit %d", limit)
		end()
		calls.Wait()
		opened.Close()
	}
}

// TestARotatedPrincipalIsUsedAtOnce: and the key is unwrapped by it.
func TestARotatedPrincipalIsUsedAtOnce(t *testing.T) {
	s := makeSite(t)
	s.set("A", "1")
	opened := s.open(nil)
	require.NoError(t, opened.CheckCredentials())
	list(t, opened, s.Environment)
	next, err := s.workspace.MakeReader(t.Context(), "next")
	require.NoError(t, err)
	require.NoError(t, s.workspace.Withdraw(t.Context(), s.reader))
	require.Equal(t, store.ReasonDenied, failing(t, opened, s.Environment).Reason)
	s.use(next)
	require.Equal(t, map[string]string{"A": "1"}, list(t, opened, s.Environment))
	require.Equal(t, 2, s.double().Calls("GetWorkspaceKeys"))
	require.NoError(t, os.WriteFile(s.file, []byte("{"), 0o600))
	require.Equal(t, store.ReasonInvalidCredentials, problemOf(t, opened.CheckCredentials()).Reason)
}

// TestTLS: by a CA of its own, which may be renewed in place.
func TestTLS(t *testing.T) {
	d := zopp.NewDouble()
	ca, err := d.UseTLS()
	require.NoError(t, err)
	s := makeSiteOn(t, d)
	caFile := filepath.Join(t.TempDir(), "ca.crt")
	require.NoError(t, os.WriteFile(caFile, ca, 0o600))
	s.set("A", "1")
	opened := s.open(func(o *store.Options) { o.CAFile = caFile })
	require.Equal(t, map[string]string{"A": "1"}, list(t, opened, s.Environment))

	problem := failing(t, s.open(nil), s.Environment)
	require.Equal(t, store.ReasonUnreachable, problem.Reason, "the system does not know this CA")
	require.Contains(t, problem.Message, "certificate signed by unknown authority")

	s.double().Stop()
	renewed, err := s.double().UseTLS()
	require.NoError(t, err)
	require.NoError(t, s.double().Start())
	require.NoError(t, os.WriteFile(caFile, renewed, 0o600))
	require.EventuallyWithT(t, func(c *assert) {
		if _, err := opened.List(t.Context(), s.Environment.Environment); err != nil {
			c.Errorf("%v", err)
		}
	}, 2*time.Minute, 20*time.Millisecond)
}

// TestNoServer checks a closed port, and a server that is not a zopp server.
func TestNoServer(t *testing.T) {
	s := makeSite(t)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	nobody := "http://" + listener.Addr().String()
	require.NoError(t, listener.Close())
	problem := failing(t, s.open(func(o *store.Options) { o.Server = nobody }), s.Environment)
	require.Equal(t, store.ReasonUnreachable, problem.Reason)
	require.Contains(t, problem.Message, "connection refused")
}

// TestADeadConnectionIsNoticed checks a connection without responses that is not closed.
func TestADeadConnectionIsNoticed(t *testing.T) {
	t.Parallel()
	s := makeSite(t)
	between := newBetween(t, strings.TrimPrefix(s.peer.URL, "http://"))
	opened := s.open(func(o *store.Options) { o.Server = "http://" + between.address })
	watch, err := opened.Watch(t.Context(), s.Environment.Environment)
	require.NoError(t, err)
	between.swallow()
	ended := make(chan error, 1)
	go func() {
		_, err := watch.Next()
		ended <- err
	}()
	select {
	case err := <-ended:
		require.Equal(t, store.ReasonUnreachable, problemOf(t, err).Reason, err.Error())
	case <-time.After(2 * time.Minute):
		require.Fail(t, "it was not noticed")
	}
}
