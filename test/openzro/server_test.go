package openzro

import (
	"context"
	"errors"
	"io"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// double is one of the test's own, with an account.
func double(t *testing.T) (*Management, *Account) {
	t.Helper()
	server, err := Start()
	require.NoError(t, err)
	t.Cleanup(server.Stop)
	account := server.AddAccount("acme")
	return &Management{URL: server.URL, Token: account.Token, Double: server, Account: account}, account
}

func (m *Management) ask(t *testing.T, method, path string, body any) Answer {
	t.Helper()
	answer, err := m.Send(t.Context(), m.Token, method, path, body)
	require.NoError(t, err)
	return answer
}

func TestCallsAreCounted(t *testing.T) {
	m, account := double(t)
	other := m.Double.AddAccount("globex")
	m.ask(t, http.MethodGet, "groups", nil)
	m.ask(t, http.MethodGet, "groups?x=y", nil)
	m.ask(t, http.MethodGet, "groups/"+account.Groups()[0].ID, nil)
	m.ask(t, http.MethodPost, "networks/n/resources", fields{})
	m.ask(t, http.MethodGet, "services/5", nil)
	_, err := m.Send(t.Context(), other.Token, http.MethodGet, "groups", nil)
	require.NoError(t, err)
	_, err = m.Send(t.Context(), "wrong", http.MethodGet, "groups", nil)
	require.NoError(t, err)
	require.Equal(t, map[Call]int{
		{"acme", http.MethodGet, "groups"}:                        2,
		{"acme", http.MethodGet, "groups/{id}"}:                   1,
		{"acme", http.MethodPost, "networks/{network}/resources"}: 1,
		{"acme", http.MethodGet, "services/5"}:                    1,
		{"globex", http.MethodGet, "groups"}:                      1,
		{"", http.MethodGet, "groups"}:                            1,
	}, m.Double.Calls())
	require.Equal(t, 4, m.Double.Count(Call{Route: "groups"}))
	require.Equal(t, 1, m.Double.Writes(Call{Account: "acme"}))
	m.Double.ForgetCalls()
	require.Zero(t, m.Double.Count(Call{}))
}

func TestFaults(t *testing.T) {
	m, _ := double(t)
	group := fields{"name": "g"}
	m.Double.Fault(Call{Method: http.MethodPost, Route: "groups"}, 2, Failure(http.StatusServiceUnavailable))
	require.Equal(t, http.StatusOK, m.ask(t, http.MethodGet, "groups", nil).Status)
	require.Equal(t, http.StatusServiceUnavailable, m.ask(t, http.MethodPost, "groups", group).Status)
	require.Equal(t, http.StatusServiceUnavailable, m.ask(t, http.MethodPost, "groups", group).Status)
	require.Equal(t, http.StatusOK, m.ask(t, http.MethodPost, "groups", group).Status, "after so many times")

	end := m.Double.Fault(Call{}, 0, Limit(7*time.Second))
	for range 3 {
		answer := m.ask(t, http.MethodGet, "groups", nil)
		require.Equal(t, http.StatusTooManyRequests, answer.Status)
		require.Equal(t, "7", answer.Header.Get("Retry-After"))
	}
	end()
	m.Double.Fault(Call{Account: "acme"}, 1, HTML(http.StatusOK))
	answer := m.ask(t, http.MethodGet, "groups", nil)
	require.Equal(t, http.StatusOK, answer.Status)
	require.Error(t, answer.Into(&[]Group{}))
	require.Equal(t, http.StatusOK, m.ask(t, http.MethodGet, "groups", nil).Status)
}

func TestALostAnswer(t *testing.T) {
	m, account := double(t)
	m.Double.Fault(Call{Method: http.MethodPost}, 1, LoseAnswer())
	_, err := m.Send(t.Context(), m.Token, http.MethodPost, "groups", fields{"name": "g"})
	require.ErrorIs(t, err, io.EOF)
	require.Equal(t, "g", account.Groups()[1].Name, "it is there")
}

func TestAServerThatHangs(t *testing.T) {
	m, account := double(t)
	m.Double.Fault(Call{}, 0, Hang())
	limited, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err := m.Send(limited, m.Token, http.MethodPost, "groups", fields{"name": "g"})
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.Len(t, account.Groups(), 1)
}

// TestAStoppedServer checks that a stopped server closes its connections, and can be started
// again on its port with its former contents.
func TestAStoppedServer(t *testing.T) {
	m, account := double(t)
	m.Double.Fault(Call{Route: "networks"}, 0, Hang())
	var under sync.WaitGroup
	var broken error
	under.Go(func() { _, broken = m.Send(context.Background(), m.Token, http.MethodGet, "networks", nil) })
	require.Eventually(t, func() bool { return m.Double.Count(Call{Route: "networks"}) == 1 }, 10*time.Second, time.Millisecond)
	for range 3 {
		m.Double.Stop()
		m.Double.Stop()
		_, err := m.Send(t.Context(), m.Token, http.MethodGet, "groups", nil)
		require.Error(t, err)
		require.NoError(t, m.Double.Resume())
		require.Equal(t, http.StatusOK, m.ask(t, http.MethodGet, "groups", nil).Status)
	}
	under.Wait()
	require.Error(t, broken)
	require.Len(t, account.Groups(), 1)
}

func TestADelay(t *testing.T) {
	m, _ := double(t)
	m.Double.SetDelay(30 * time.Millisecond)
	start := time.Now()
	m.ask(t, http.MethodGet, "groups", nil)
	require.GreaterOrEqual(t, time.Since(start), 30*time.Millisecond)
}

func TestSomethingBehindOnesBack(t *testing.T) {
	m, account := double(t)
	m.Double.Fault(Call{Method: http.MethodPost}, 1, After(func() { account.AddPeer("peer") }))
	m.ask(t, http.MethodPost, "groups", fields{"name": "g"})
	require.Equal(t, 1, account.Groups()[0].PeersCount)
}

// TestEnrolling uses another protocol, so it is not part of the contract: the clients of a real
// server use up its keys.
func TestEnrolling(t *testing.T) {
	m, account := double(t)
	var group Group
	require.NoError(t, m.ask(t, http.MethodPost, "groups", fields{"name": "g"}).Into(&group))
	var key SetupKey
	require.NoError(t, m.ask(t, http.MethodPost, "setup-keys", reusable("k", group.ID).with("usage_limit", 1)).Into(&key))
	peer, err := account.Enrol(key.Key, "machine")
	require.NoError(t, err)
	groups := account.Groups()
	require.Equal(t, []Name{{peer, "machine"}}, groups[0].Peers, "everybody is in All")
	require.Equal(t, []Name{{peer, "machine"}}, groups[1].Peers)
	require.Equal(t, "overused", account.SetupKeys()[0].State)
	require.Equal(t, 1, account.SetupKeys()[0].UsedTimes)
	_, err = account.Enrol(key.Key, "another")
	require.True(t, errors.Is(err, ErrKeyRefused))

	require.Equal(t, http.StatusOK, m.ask(t, http.MethodPut, "groups/"+group.ID, fields{"name": "g", "peers": []string{peer}}).Status)
	require.Equal(t, 1, account.Groups()[1].PeersCount)
	require.Equal(t, http.StatusOK, m.ask(t, http.MethodPut, "groups/"+group.ID, fields{"name": "g"}).Status)
	require.Zero(t, account.Groups()[1].PeersCount, "a write without peers empties it")
}

// TestSettingsWithoutExtra checks that the connection is closed: a real server fails inside its
// transaction, and does not respond to any client until it is restarted. So the contract has no
// such case.
func TestSettingsWithoutExtra(t *testing.T) {
	m, account := double(t)
	_, err := m.Send(t.Context(), m.Token, http.MethodPut, "accounts/"+account.ID, fields{"settings": fields{"peer_login_expiration": 7200}})
	require.ErrorIs(t, err, io.EOF)
	require.Equal(t, 24*60*60, account.Settings().PeerLoginExpiration)
}

func TestARevokedToken(t *testing.T) {
	m, account := double(t)
	token := account.AddToken(RoleAdmin, false)
	answer, err := m.Send(t.Context(), token, http.MethodGet, "groups", nil)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, answer.Status)
	account.Revoke(token)
	answer, err = m.Send(t.Context(), token, http.MethodGet, "groups", nil)
	require.NoError(t, err)
	require.Equal(t, http.StatusUnauthorized, answer.Status)
	require.Equal(t, http.StatusOK, m.ask(t, http.MethodGet, "groups", nil).Status)
}
