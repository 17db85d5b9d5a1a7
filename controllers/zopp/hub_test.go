package zopp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/lintel-policy/lintel/controllers/zopp/store"
)

var (
	backend    = store.Environment{Workspace: "acme", Project: "backend", Name: "production"}
	shared     = store.Environment{Workspace: "acme", Project: "shared", Name: "production"}
	appSecrets = user{"Secret", types.NamespacedName{Namespace: "default", Name: "app-secrets"}}
	others     = user{"Secret", types.NamespacedName{Namespace: "default", Name: "others"}}
)

func TestMain(m *testing.M) {
	log.SetLogger(logr.Discard())
	os.Exit(m.Run())
}

// scripted is a server with scripted, immediate answers.
type scripted struct {
	mutex    sync.Mutex
	values   map[store.Environment]map[string]string
	versions map[store.Environment]int64
	ids      map[store.Environment]string
	failure  error // of all calls
	// unwatchable is why there are no streams.
	unwatchable error
	blocked     chan struct{}
	lists       int
	watches     int
	forgotten   []store.Environment
	open        map[*scriptedStream]bool
	// listing is called within a list, after the values were read.
	listing func()
}

type scriptedStream struct {
	of          *scripted
	environment store.Environment
	id          string
	events      chan error
	ctx         context.Context
}

func newScripted() *scripted {
	return &scripted{
		values: map[store.Environment]map[string]string{}, versions: map[store.Environment]int64{},
		ids: map[store.Environment]string{}, open: map[*scriptedStream]bool{},
	}
}

func (s *scripted) List(ctx context.Context, environment store.Environment) (*store.Contents, error) {
	s.mutex.Lock()
	s.lists++
	failure, blocked, listing := s.failure, s.blocked, s.listing
	contents := &store.Contents{ID: s.ids[environment], Version: s.versions[environment]}
	for key, value := range s.values[environment] {
		contents.Values = append(contents.Values, store.Value{Key: key, Value: []byte(value)})
	}
	s.mutex.Unlock()
	sortValues(contents.Values)
	if blocked != nil {
		select {
		case <-blocked:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	if listing != nil {
		listing()
	}
	if failure != nil {
		return nil, failure
	}
	return contents, nil
}

func (s *scripted) Watch(ctx context.Context, environment store.Environment) (stream, error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.watches++
	if failure := cmp.Or(s.unwatchable, s.failure); failure != nil {
		return nil, failure
	}
	opened := &scriptedStream{s, environment, s.ids[environment], make(chan error, 1000), ctx}
	s.open[opened] = true
	return opened, nil
}

func (s *scripted) Identify(_ context.Context, environment store.Environment) (string, error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.ids[environment], s.failure
}

func (s *scripted) Check(context.Context) error {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if errors.Is(s.failure, unreachable) {
		return s.failure
	}
	return nil
}

func (s *scripted) Reconnect(ctx context.Context) error { return s.Check(ctx) }

func (s *scripted) Forget(environment store.Environment) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.forgotten = append(s.forgotten, environment)
}

func (s *scriptedStream) Next() (store.Event, error) {
	select {
	case err := <-s.events:
		return store.Event{Type: store.Updated}, err
	case <-s.ctx.Done():
		return store.Event{}, s.ctx.Err()
	}
}

func (s *scriptedStream) Close() {
	s.of.mutex.Lock()
	defer s.of.mutex.Unlock()
	delete(s.of.open, s)
}

// set changes a value, without a word.
func (s *scripted) set(environment store.Environment, key, value string) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.values[environment] == nil {
		s.values[environment] = map[string]string{}
	}
	s.values[environment][key] = value
	s.versions[environment]++
}

// remake replaces an environment by another of the same name, without values.
func (s *scripted) remake(environment store.Environment, id string) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.ids[environment], s.versions[environment], s.values[environment] = id, 0, map[string]string{}
}

// unset deletes a value, without a word.
func (s *scripted) unset(environment store.Environment, key string) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	delete(s.values[environment], key)
	s.versions[environment]++
}

// tell sends an event, or the end with an error, to all streams but those of environments
// that are others by now.
func (s *scripted) tell(err error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	for opened := range s.open {
		if opened.id == s.ids[opened.environment] {
			opened.events <- err
		}
	}
}

func (s *scripted) fail(err error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.failure = err
}

func (s *scripted) counts() (lists, watches, open int) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.lists, s.watches, len(s.open)
}

// watched is a hub that records the enqueued users.
type watched struct {
	*hub
	*scripted
	mutex    sync.Mutex
	notified map[user]int
}

// inHub runs a test with a hub, in a time that passes only when all wait.
func inHub(t *testing.T, test func(t *testing.T, w *watched)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := &watched{scripted: newScripted(), notified: map[user]int{}}
		counted := newMetrics(prometheus.NewRegistry())
		w.hub = newHub(w.scripted, time.Minute, counted, func(_ context.Context, u user) {
			w.mutex.Lock()
			defer w.mutex.Unlock()
			w.notified[u]++
		})
		ctx, end := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			_ = w.hub.Start(ctx)
		}()
		test(t, w)
		end()
		<-ended
		_, _, open := w.counts()
		require.Zero(t, open, "streams that are left open")
	})
}

func (w *watched) use(t *testing.T, u user, environments ...store.Environment) []*snapshot {
	t.Helper()
	snapshots, err := w.Use(t.Context(), u, 0, environments...)
	require.NoError(t, err)
	return snapshots
}

// value returns the value in an environment's current snapshot.
func (w *watched) value(t *testing.T, u user, environment store.Environment, key string) string {
	t.Helper()
	known := w.use(t, u, environment)[0]
	if known == nil || known.contents == nil {
		return "nothing is known"
	}
	for _, v := range known.contents.Values {
		if v.Key == key {
			return string(v.Value)
		}
	}
	return "there is none"
}

func (w *watched) wakes(u user) int {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	return w.notified[u]
}

var unreachable = &store.Error{Reason: store.ReasonUnreachable, Message: "the server does not answer"}

func TestHubFollowsOnceWhateverTheNumberOfUsers(t *testing.T) {
	inHub(t, func(t *testing.T, w *watched) {
		w.set(backend, "KEY", "one")
		for i := range 100 {
			w.use(t, user{"Secret", types.NamespacedName{Name: fmt.Sprint(i)}}, backend)
		}
		synctest.Wait()
		lists, watches, open := w.counts()
		require.Equal(t, []int{1, 1, 1}, []int{lists, watches, open})
		require.Equal(t, "one", w.value(t, user{"Secret", types.NamespacedName{Name: "7"}}, backend, "KEY"))
	})
}

func TestHubReadsAgainAfterAnEvent(t *testing.T) {
	inHub(t, func(t *testing.T, w *watched) {
		w.set(backend, "KEY", "one")
		w.use(t, appSecrets, backend)
		synctest.Wait()
		time.Sleep(spacing)
		before := time.Now()
		w.set(backend, "KEY", "two")
		w.tell(nil)
		synctest.Wait()
		require.Equal(t, "two", w.value(t, appSecrets, backend, "KEY"))
		require.Zero(t, time.Since(before), "the first event of a burst is not waited with")
		require.Equal(t, 2, w.wakes(appSecrets))
		require.Equal(t, before, w.use(t, appSecrets, backend)[0].noticed)
	})
}

// Defect D4: a change between the list and the subscription is never lost, because the list
// happens after the subscription.
func TestHubListsAfterItHasSubscribed(t *testing.T) {
	inHub(t, func(t *testing.T, w *watched) {
		w.listing = func() {
			_, _, open := w.counts()
			require.Equal(t, 1, open)
		}
		w.use(t, appSecrets, backend)
		synctest.Wait()
		require.NotNil(t, w.use(t, appSecrets, backend)[0])
	})
}

// An event during a list, which may have read older values, leads to another list.
func TestHubReadsAgainAfterAnEventDuringAList(t *testing.T) {
	inHub(t, func(t *testing.T, w *watched) {
		once := sync.OnceFunc(func() {
			w.set(backend, "KEY", "two")
			w.tell(nil)
		})
		w.listing = once
		w.set(backend, "KEY", "one")
		w.use(t, appSecrets, backend)
		synctest.Wait()
		time.Sleep(spacing)
		synctest.Wait()
		require.Equal(t, "two", w.value(t, appSecrets, backend, "KEY"))
	})
}

func TestHubCoalescesABurst(t *testing.T) {
	inHub(t, func(t *testing.T, w *watched) {
		w.use(t, appSecrets, backend)
		synctest.Wait()
		for i := range 100 {
			w.set(backend, "KEY", fmt.Sprint(i))
			w.tell(nil)
			time.Sleep(time.Millisecond)
		}
		time.Sleep(spacing)
		synctest.Wait()
		require.Equal(t, "99", w.value(t, appSecrets, backend, "KEY"))
		lists, _, _ := w.counts()
		require.LessOrEqual(t, lists, 4, "lists in 175 ms")
	})
}

// A server may drop events: the poll finds the missed changes.
func TestHubPolls(t *testing.T) {
	inHub(t, func(t *testing.T, w *watched) {
		w.set(backend, "KEY", "one")
		w.use(t, appSecrets, backend)
		synctest.Wait()
		w.set(backend, "KEY", "two")
		time.Sleep(time.Minute)
		synctest.Wait()
		require.Equal(t, "two", w.value(t, appSecrets, backend, "KEY"))
	})
}

func TestHubPollsOncePerIntervalAndWakesNobodyForNothing(t *testing.T) {
	inHub(t, func(t *testing.T, w *watched) {
		w.use(t, appSecrets, backend)
		w.use(t, others, backend)
		synctest.Wait()
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		lists, watches, _ := w.counts()
		require.GreaterOrEqual(t, lists, 11)
		require.LessOrEqual(t, lists, 14, "polls come early by a fifth at most")
		require.Equal(t, 1, watches)
		require.Equal(t, 1, w.wakes(appSecrets))
	})
}

func TestHubPollsAsOftenAsTheUserWithTheShortestIntervalWants(t *testing.T) {
	inHub(t, func(t *testing.T, w *watched) {
		w.use(t, appSecrets, backend)
		_, err := w.Use(t.Context(), others, 10*time.Second, backend)
		require.NoError(t, err)
		synctest.Wait()
		time.Sleep(100 * time.Second)
		synctest.Wait()
		lists, _, _ := w.counts()
		require.GreaterOrEqual(t, lists, 11)
		w.hub.Forget(others)
		time.Sleep(100 * time.Second)
		synctest.Wait()
		after, _, _ := w.counts()
		require.LessOrEqual(t, after-lists, 3)
	})
}

// Defects D1 and D2: changes while a stream was down are read when it is open again, and there
// is again exactly one stream.
func TestHubReadsAgainWhenAStreamIsOpenedAnew(t *testing.T) {
	for name, end := range map[string]error{
		"ended":    &store.Error{Reason: store.ReasonEnded, Message: "the stream has ended"},
		"unknown":  errors.New("reset"),
		"outage":   unreachable,
		"internal": &store.Error{Reason: store.ReasonServerFailed, Message: "internal"},
	} {
		t.Run(name, func(t *testing.T) {
			inHub(t, func(t *testing.T, w *watched) {
				w.set(backend, "KEY", "one")
				w.use(t, appSecrets, backend)
				synctest.Wait()
				time.Sleep(time.Minute)
				w.set(backend, "KEY", "two")
				w.tell(end)
				time.Sleep(soon)
				synctest.Wait()
				require.Equal(t, "two", w.value(t, appSecrets, backend, "KEY"))
				_, watches, open := w.counts()
				require.Equal(t, []int{2, 1}, []int{watches, open})
			})
		})
	}
}

func TestHubComesBackWithinASecondOfTheServer(t *testing.T) {
	inHub(t, func(t *testing.T, w *watched) {
		w.set(backend, "KEY", "one")
		w.use(t, appSecrets, backend)
		synctest.Wait()
		time.Sleep(time.Minute)
		w.fail(unreachable)
		w.tell(unreachable)
		time.Sleep(time.Hour)
		w.set(backend, "KEY", "two")
		w.fail(nil)
		time.Sleep(time.Second)
		synctest.Wait()
		require.Equal(t, "two", w.value(t, appSecrets, backend, "KEY"))
		require.Nil(t, w.use(t, appSecrets, backend)[0].failure)
	})
}

func TestHubTriesLessAndLessWhereItIsDenied(t *testing.T) {
	inHub(t, func(t *testing.T, w *watched) {
		w.fail(&store.Error{Reason: store.ReasonDenied, Message: "no permission"})
		w.use(t, appSecrets, backend)
		time.Sleep(time.Hour)
		synctest.Wait()
		_, watches, _ := w.counts()
		require.Less(t, watches, 150)
		require.Greater(t, watches, 60)
	})
}

func TestHubTellsOfFailuresAndKeepsWhatWasRead(t *testing.T) {
	inHub(t, func(t *testing.T, w *watched) {
		w.set(backend, "KEY", "one")
		w.use(t, appSecrets, backend)
		synctest.Wait()
		time.Sleep(time.Minute)
		began := time.Now()
		denied := &store.Error{Reason: store.ReasonDenied, Message: "no permission"}
		w.fail(denied)
		w.tell(denied)
		time.Sleep(soon)
		synctest.Wait()
		known := w.use(t, appSecrets, backend)[0]
		require.Equal(t, "one", string(known.contents.Values[0].Value))
		require.Equal(t, "Denied", known.failure.reason)
		require.WithinDuration(t, began, known.failure.since, soon)
		require.Equal(t, 2, w.wakes(appSecrets))
		time.Sleep(time.Hour)
		synctest.Wait()
		require.Equal(t, 2, w.wakes(appSecrets), "the same failure is reported once")
		require.Same(t, known.failure, w.use(t, appSecrets, backend)[0].failure)
	})
}

// The restart of a server is not reported, but a longer outage is.
func TestHubTellsOfAnOutageAfterAWhile(t *testing.T) {
	inHub(t, func(t *testing.T, w *watched) {
		w.set(backend, "KEY", "one")
		w.use(t, appSecrets, backend)
		synctest.Wait()
		time.Sleep(time.Minute)
		w.fail(unreachable)
		w.tell(unreachable)
		time.Sleep(outageGrace / 2)
		require.Nil(t, w.use(t, appSecrets, backend)[0].failure)
		w.use(t, others, shared)
		synctest.Wait()
		require.Equal(t, "Unreachable", w.use(t, others, shared)[0].failure.reason, "with nothing to show there is no reason to wait")
		time.Sleep(outageGrace)
		synctest.Wait()
		require.Equal(t, "Unreachable", w.use(t, appSecrets, backend)[0].failure.reason)
	})
}

// Defect D2: an environment without users is no longer followed.
func TestHubLeavesWhatNobodyUses(t *testing.T) {
	inHub(t, func(t *testing.T, w *watched) {
		w.use(t, appSecrets, backend, shared)
		w.use(t, others, backend)
		synctest.Wait()
		_, _, open := w.counts()
		require.Equal(t, 2, open)
		w.use(t, appSecrets, backend)
		synctest.Wait()
		_, _, open = w.counts()
		require.Equal(t, 1, open)
		require.Equal(t, []store.Environment{shared}, w.forgotten)
		w.hub.Forget(appSecrets)
		synctest.Wait()
		_, _, open = w.counts()
		require.Equal(t, 1, open, "another one uses it")
		w.hub.Forget(others)
		synctest.Wait()
		lists, _, open := w.counts()
		require.Zero(t, open)
		time.Sleep(time.Hour)
		after, _, _ := w.counts()
		require.Equal(t, lists, after)
		require.Zero(t, w.sum(func(*follower) int { return 1 }))
	})
}

func TestHubNoticesAnEnvironmentThatWasMadeAgain(t *testing.T) {
	inHub(t, func(t *testing.T, w *watched) {
		w.ids[backend] = "first"
		w.use(t, appSecrets, backend)
		synctest.Wait()
		w.remake(backend, "second")
		time.Sleep(time.Minute)
		synctest.Wait()
		require.Equal(t, "second", w.use(t, appSecrets, backend)[0].contents.ID)
		require.Equal(t, 2, w.wakes(appSecrets))
		time.Sleep(time.Second)
		synctest.Wait()
		_, watches, open := w.counts()
		require.Equal(t, 2, watches, "the stream is that of the new one")
		require.Equal(t, 1, open)
		w.set(backend, "KEY", "new")
		w.tell(nil)
		time.Sleep(time.Second)
		synctest.Wait()
		require.Equal(t, "new", w.value(t, appSecrets, backend, "KEY"), "a change of the new one waits for no poll")
	})
}

// The stream of a deleted environment does not report the changes of the one that replaces it.
func TestHubLooksForAnEnvironmentThatWasDeleted(t *testing.T) {
	inHub(t, func(t *testing.T, w *watched) {
		w.ids[backend] = "first"
		w.use(t, appSecrets, backend)
		synctest.Wait()
		w.fail(&store.Error{Reason: store.ReasonNotFound, Message: "not there"})
		time.Sleep(time.Minute + 2*time.Second)
		synctest.Wait()
		_, _, open := w.counts()
		require.Zero(t, open, "the stream is left")
		w.fail(nil)
		w.remake(backend, "second")
		w.set(backend, "KEY", "new")
		time.Sleep(25 * time.Second)
		synctest.Wait()
		require.Equal(t, "new", w.value(t, appSecrets, backend, "KEY"), "it is looked for before the next poll")
		_, watches, open := w.counts()
		require.Equal(t, 1, open)
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		_, again, _ := w.counts()
		require.Equal(t, watches, again, "the stream that finds it is that of the new one")
	})
}

// A list that an event has led to, and that has failed, waits for no poll.
func TestHubReadsAgainAfterAListThatHasFailed(t *testing.T) {
	for reason, within := range map[store.Reason]time.Duration{
		store.ReasonServerFailed: 2 * time.Second, store.ReasonInvalidCredentials: 2 * time.Second, store.ReasonDenied: 2 * time.Second,
	} {
		t.Run(string(reason), func(t *testing.T) {
			inHub(t, func(t *testing.T, w *watched) {
				w.set(backend, "KEY", "one")
				w.use(t, appSecrets, backend)
				time.Sleep(time.Second)
				w.set(backend, "KEY", "two")
				w.fail(&store.Error{Reason: reason, Message: "no"})
				w.tell(nil)
				time.Sleep(time.Second / 4)
				synctest.Wait()
				require.Equal(t, "one", w.value(t, appSecrets, backend, "KEY"))
				w.fail(nil)
				time.Sleep(within)
				synctest.Wait()
				require.Equal(t, "two", w.value(t, appSecrets, backend, "KEY"))
				lists, watches, _ := w.counts()
				require.Equal(t, 1, watches, "the stream is as it was")
				time.Sleep(40 * time.Second)
				synctest.Wait()
				after, _, _ := w.counts()
				require.Equal(t, lists, after, "and polls are as far apart as before")
			})
		})
	}
}

// Fixed credentials are used soon, however long they were invalid: checking them needs no
// request.
func TestHubLooksAtCredentialsEachSecond(t *testing.T) {
	inHub(t, func(t *testing.T, w *watched) {
		w.set(backend, "KEY", "one")
		w.use(t, appSecrets, backend)
		time.Sleep(time.Second)
		w.set(backend, "KEY", "two")
		w.fail(&store.Error{Reason: store.ReasonInvalidCredentials, Message: "no"})
		w.tell(nil)
		time.Sleep(10 * time.Minute)
		w.fail(nil)
		time.Sleep(2 * time.Second)
		synctest.Wait()
		require.Equal(t, "two", w.value(t, appSecrets, backend, "KEY"))
	})
}

func TestHubGivesWhatIsFresh(t *testing.T) {
	inHub(t, func(t *testing.T, w *watched) {
		w.set(backend, "KEY", "one")
		w.use(t, appSecrets, backend)
		synctest.Wait()
		w.set(backend, "KEY", "two")
		asked := time.Now()
		known := w.Fresh(t.Context(), backend)
		require.Equal(t, "two", string(known.contents.Values[0].Value))
		require.False(t, known.began.Before(asked))
		require.Nil(t, w.Fresh(t.Context(), shared))
	})
}

// A list that hangs keeps neither others from being read nor the hub from ending.
func TestHubIsNotHeldUpByAListThatHangs(t *testing.T) {
	inHub(t, func(t *testing.T, w *watched) {
		w.blocked = make(chan struct{})
		w.use(t, appSecrets, backend)
		synctest.Wait()
		w.scripted.mutex.Lock()
		w.scripted.blocked = nil
		w.scripted.mutex.Unlock()
		w.use(t, others, shared)
		synctest.Wait()
		require.NotNil(t, w.use(t, others, shared)[0])
		require.Nil(t, w.use(t, appSecrets, backend)[0])
	})
}

func sortValues(values []store.Value) {
	slices.SortFunc(values, func(a, b store.Value) int { return strings.Compare(a.Key, b.Key) })
}

// Polls still work where opening streams fails, but lists succeed.
func TestHubWithoutStreams(t *testing.T) {
	inHub(t, func(t *testing.T, w *watched) {
		w.set(backend, "KEY", "one")
		w.unwatchable = unreachable
		w.use(t, appSecrets, backend)
		synctest.Wait()
		require.Equal(t, "one", w.value(t, appSecrets, backend, "KEY"))
		require.Nil(t, w.use(t, appSecrets, backend)[0].failure)
		w.set(backend, "KEY", "two")
		time.Sleep(time.Hour)
		synctest.Wait()
		require.Equal(t, "two", w.value(t, appSecrets, backend, "KEY"))
		_, watches, _ := w.counts()
		require.Less(t, watches, 150)
	})
}
