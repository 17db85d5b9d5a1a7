package management

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// store is a server with groups that records its requests.
type store struct {
	mutex  sync.Mutex
	groups map[string]Group
	asked  []string
	// before is called, without the mutex, before a request is answered with the state at its
	// arrival, and code overrides the status code.
	before func(r *http.Request)
	code   int
}

func (s *store) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mutex.Lock()
	s.asked = append(s.asked, r.Method)
	code, before := s.code, s.before
	id := strings.TrimPrefix(r.URL.Path, "/api/groups/")
	var body any
	switch {
	case code != 0:
	case r.Method == http.MethodGet && r.URL.Path == "/api/groups":
		list := []Group{}
		for _, g := range s.groups {
			list = append(list, g)
		}
		body = list
	case r.Method == http.MethodPost:
		g := Group{}
		_ = json.NewDecoder(r.Body).Decode(&g)
		g.ID = "id-" + g.Name
		s.groups[g.ID], body = g, g
	case r.Method == http.MethodDelete && s.groups[id].ID == "":
		code = 400
	case r.Method == http.MethodDelete:
		delete(s.groups, id)
		body = struct{}{}
	case s.groups[id].ID == "":
		code = 404
	default:
		body = s.groups[id]
	}
	s.mutex.Unlock()
	if before != nil {
		before(r)
	}
	if code != 0 {
		answer(code, said("no"))(w, r)
		return
	}
	_ = json.NewEncoder(w).Encode(body)
}

func newStore(names ...string) *store {
	s := &store{groups: map[string]Group{}}
	s.put(names...)
	return s
}

func (s *store) put(names ...string) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	for _, name := range names {
		s.groups["id-"+name] = Group{ID: "id-" + name, Name: name}
	}
}

func (s *store) fail(code int) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.code = code
}

func (s *store) drain() []string {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	asked := s.asked
	s.asked = nil
	return asked
}

// TestListedOnceForAll checks that our own writes are known without another request.
func TestListedOnceForAll(t *testing.T) {
	s := newStore("a", "b")
	tenant := tenantOf(t, s.ServeHTTP)
	var all sync.WaitGroup
	for i := range 50 {
		all.Go(func() {
			require.NoError(t, tenant.Groups.Load(t.Context()))
			_, err := tenant.Groups.Create(t.Context(), GroupRequest{Name: fmt.Sprint("n", i)})
			require.NoError(t, err)
		})
	}
	all.Wait()
	lists := 0
	for _, method := range s.drain() {
		if method == http.MethodGet {
			lists++
		}
	}
	require.Equal(t, 1, lists)
	require.Len(t, tenant.Groups.All(), 52)
	require.Len(t, tenant.Groups.Named("n7"), 1)
	require.NoError(t, tenant.Groups.Delete(t.Context(), "id-n7"))
	require.Empty(t, tenant.Groups.Named("n7"))
	changed, err := tenant.Groups.Refresh(t.Context())
	require.NoError(t, err)
	require.False(t, changed, "our own writes are no news")
	require.Len(t, tenant.Groups.All(), 51)
}

// TestALateListUndoesNothing: a list that began before a write does not know of it.
func TestALateListUndoesNothing(t *testing.T) {
	s := newStore("a", "b")
	tenant := tenantOf(t, s.ServeHTTP)
	require.NoError(t, tenant.Groups.Load(t.Context()))
	listing, written := make(chan struct{}), make(chan struct{})
	s.mutex.Lock()
	s.before = func(r *http.Request) {
		if r.Method == http.MethodGet {
			close(listing)
			<-written
		}
	}
	s.mutex.Unlock()
	var all sync.WaitGroup
	all.Go(func() {
		_, err := tenant.Groups.Refresh(t.Context())
		require.NoError(t, err)
	})
	<-listing
	_, err := tenant.Groups.Create(t.Context(), GroupRequest{Name: "c"})
	require.NoError(t, err)
	require.NoError(t, tenant.Groups.Delete(t.Context(), "id-a"))
	tenant.Groups.Forget() // other changes are unknown
	close(written)
	all.Wait()
	require.Len(t, tenant.Groups.Named("c"), 1)
	require.Empty(t, tenant.Groups.Named("a"))
	s.mutex.Lock()
	s.before = nil
	s.mutex.Unlock()
	s.drain()
	require.NoError(t, tenant.Groups.Load(t.Context()))
	require.Equal(t, []string{http.MethodGet}, s.drain(), "what was forgotten is listed by a list that began after")
}

func TestWhatOthersChangeIsSeen(t *testing.T) {
	s := newStore("a", "b")
	tenant := tenantOf(t, s.ServeHTTP)
	require.NoError(t, tenant.Groups.Load(t.Context()))
	s.put("c")
	changed, err := tenant.Refresh(t.Context())
	require.NoError(t, err)
	require.True(t, changed)
	changed, err = tenant.Refresh(t.Context())
	require.NoError(t, err)
	require.False(t, changed)

	s.put("d")
	tenant.Groups.Forget()
	require.NoError(t, tenant.Groups.Load(t.Context()))
	changed, err = tenant.Refresh(t.Context())
	require.NoError(t, err)
	require.True(t, changed, "whoever listed it did not tell the others")
}

// TestWhatIsGone is Z17: this server answers 400 for a group that is linked and for one
// that is not there.
func TestWhatIsGone(t *testing.T) {
	s := newStore("a")
	tenant := tenantOf(t, s.ServeHTTP)
	require.NoError(t, tenant.Groups.Load(t.Context()))
	require.NoError(t, tenant.Groups.Remove(t.Context(), "id-a"))
	require.NoError(t, tenant.Groups.Remove(t.Context(), "id-a"))
	s.put("a")
	s.drain()
	s.mutex.Lock()
	s.before = func(r *http.Request) {
		if r.Method == http.MethodDelete {
			s.put("a")
		}
	}
	delete(s.groups, "id-a")
	s.mutex.Unlock()
	require.True(t, Is(tenant.Groups.Remove(t.Context(), "id-a"), Invalid), "it is there")
	_, err := tenant.Groups.Update(t.Context(), "id-z", GroupRequest{})
	require.True(t, Is(err, NotFound))
}

// TestAnOutage checks that one caller lists for all, and that forgotten items are listed again.
func TestAnOutage(t *testing.T) {
	var now atomic.Int64
	s := newStore("a")
	tenant := tenantOf(t, s.ServeHTTP)
	tenant.now = func() time.Time { return time.Unix(now.Load(), 0) }
	tenant.began = tenant.now()
	require.NoError(t, tenant.Groups.Load(t.Context()))
	s.fail(503)
	_, err := tenant.Groups.Create(t.Context(), GroupRequest{Name: "b"})
	require.True(t, Unsure(err))
	s.drain()
	for range 10 {
		require.True(t, Is(tenant.Groups.Load(t.Context()), Unavailable))
		_, err = tenant.Groups.Create(t.Context(), GroupRequest{Name: "b"})
		require.True(t, Is(err, Unavailable))
		require.False(t, Unsure(err), "it was not sent")
	}
	require.Empty(t, s.drain())
	first := tenant.Due(time.Minute)
	require.WithinDuration(t, tenant.now().Add(pauses.First), first, pauses.First)
	now.Add(2)
	_, err = tenant.Refresh(t.Context())
	require.Error(t, err)
	require.Len(t, s.drain(), 1)
	require.True(t, tenant.Due(time.Minute).After(first), "later and later")

	s.fail(0)
	changed, err := tenant.Refresh(t.Context())
	require.NoError(t, err)
	require.True(t, changed, "waiting objects must be enqueued")
	require.Nil(t, tenant.Outage())
	require.Equal(t, tenant.now().Add(time.Minute), tenant.Due(time.Minute))
}

func TestARateLimitIsKept(t *testing.T) {
	tenant := tenantOf(t, answer(429, said("slow"), "Retry-After", "90"))
	now := time.Unix(0, 0)
	tenant.now = func() time.Time { return now }
	require.True(t, Is(tenant.Groups.Load(t.Context()), RateLimited))
	require.Equal(t, now.Add(90*time.Second), tenant.Due(time.Minute))
}

// TestTenantsShareNothing: equal names, one server, two keys; and one server is down.
func TestTenantsShareNothing(t *testing.T) {
	tenants := NewTenants(nil, time.Now)
	s := newStore("a")
	one := tenantOf(t, s.ServeHTTP)
	base := strings.TrimSuffix(one.client.base, "/api")
	first, err := tenants.Of(Credentials{URL: base, Key: "k1"})
	require.NoError(t, err)
	second, err := tenants.Of(Credentials{URL: base, Key: "k2"})
	require.NoError(t, err)
	again, err := tenants.Of(Credentials{URL: base, Key: "k1"})
	require.NoError(t, err)
	require.Same(t, first, again)
	require.NotSame(t, first, second)
	require.NoError(t, first.Groups.Load(t.Context()))
	require.Empty(t, second.Groups.All())
	first.note(&Error{Cause: Unavailable})
	require.NotNil(t, first.Outage())
	require.Nil(t, second.Outage())
	require.NoError(t, second.Groups.Load(t.Context()))
	_, err = tenants.Of(Credentials{URL: "x"})
	require.Error(t, err)
}

// TestReplacedKeysAreForgotten checks that a tenant is dropped once no object uses its key.
func TestReplacedKeysAreForgotten(t *testing.T) {
	now := time.Unix(0, 0)
	tenants := NewTenants(nil, func() time.Time { return now })
	old, err := tenants.Of(Credentials{URL: "https://a", Key: "old"})
	require.NoError(t, err)
	me := Object{Kind: "OZGroup"}
	require.True(t, old.Enter(me))
	now = now.Add(2 * idle)
	require.Len(t, tenants.All(), 1)
	old.Drop(me)
	require.Empty(t, tenants.All())
	require.Empty(t, tenants.known)
}

func TestTheQueueOfATenant(t *testing.T) {
	tenant := tenantOf(t, answer(200, `[]`))
	named := func(i int) (o Object) {
		o.Name = fmt.Sprint(i)
		return o
	}
	for i := range perTenant {
		require.True(t, tenant.Enter(named(i)))
	}
	for range 2 {
		require.False(t, tenant.Enter(named(100)))
		require.False(t, tenant.Enter(named(101)))
	}
	next, waits := tenant.Leave()
	require.True(t, waits)
	require.Equal(t, named(100), next)
	require.True(t, tenant.Enter(next))
	require.Len(t, tenant.Members(), perTenant+2)
	for range 2 {
		_, waits = tenant.Leave()
	}
	require.False(t, waits)
}

func TestWhatAServerServes(t *testing.T) {
	for code, body := range map[int]string{200: `[]`, 404: "404 page not found"} {
		asked := 0
		now := time.Unix(0, 0)
		tenant := tenantOf(t, func(w http.ResponseWriter, r *http.Request) {
			asked++
			answer(code, body)(w, r)
		})
		tenant.now = func() time.Time { return now }
		for range 3 {
			there, err := tenant.Serves(t.Context(), "/services")
			require.NoError(t, err)
			require.Equal(t, code == 200, there)
		}
		require.Equal(t, 1, asked)
		now = now.Add(servesInterval)
		_, err := tenant.Serves(t.Context(), "/services")
		require.NoError(t, err)
		require.Equal(t, 2, asked, "it is asked again every hour")
	}
	_, err := tenantOf(t, answer(401, said("no"))).Serves(t.Context(), "/services")
	require.True(t, Is(err, Unauthorized))
}

// TestAServerThatHangsOnWritesAlone is left alone for longer and longer: its lists, which it
// answers, do not end the outage for good.
func TestAServerThatHangsOnWritesAlone(t *testing.T) {
	tenant := tenantOf(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		_, _ = io.WriteString(w, "[]")
	})
	now := time.Now()
	tenant.now = func() time.Time { return now }
	pause := func() time.Duration {
		t.Helper()
		_, err := tenant.Groups.Create(t.Context(), GroupRequest{Name: "a"})
		require.Error(t, err)
		pause := tenant.Due(time.Hour).Sub(now)
		now = now.Add(pause)
		_, err = tenant.Refresh(t.Context())
		require.NoError(t, err)
		require.Nil(t, tenant.Outage())
		return pause
	}
	for range 8 {
		pause()
	}
	require.Greater(t, pause(), 10*time.Second)
	now = now.Add(2 * calm)
	require.Less(t, pause(), 2*time.Second)
}
