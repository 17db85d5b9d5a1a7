package openzro

import (
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1 "github.com/lintel-policy/lintel/api/openzro/v1"
	"github.com/lintel-policy/lintel/test/openzro"
)

// TestATokenOfAnotherAccount stops everything until it is acknowledged: neither account is
// written to. After it, objects are created in the new account, and returning finds them.
func TestATokenOfAnotherAccount(t *testing.T) {
	s := newSite(t)
	objects := []v1.Object{ozgroup("dev", "Developers"), ozgroup("srv", "Servers"), web(80), ozkey("laptops", v1.OZSetupKeySpec{})}
	for _, o := range objects {
		s.apply(o)
	}
	s.settle()
	s.requireReconciled(objects...)
	before := s.state()
	second := s.server.AddAccount("umbrella")
	s.server.ForgetCalls()
	s.key(team, second.Token)
	s.settle()
	for _, o := range objects {
		s.requireReason(o, v1.ReasonAccountChanged, s.account.ID, second.ID, remoteIDs(o)[0], v1.AccountAnnotation+"="+second.ID)
		require.Equal(t, s.account.ID, o.CommonStatus().Account)
	}
	require.Zero(t, s.server.Writes(openzro.Call{}))
	require.Len(t, second.Groups(), 1)

	s.delete(objects[0])
	s.settle()
	s.requireReason(objects[0], v1.ReasonAccountChanged, "openzro.io/deletion-policy=Retain")
	s.acknowledge(second.ID)
	s.settle()
	require.True(t, s.isGone(objects[0]))
	s.reconcile(ozgroup("dev", "Developers"))
	s.requireReconciled(objects[1:]...)
	require.Len(t, second.Policies(), 2)
	require.Contains(t, s.reported(), "LeftBehind in account "+s.account.ID+" stay group")
	require.Len(t, get(s, web(80)).Status.LeftBehind, 2)
	require.Equal(t, before, s.state(), "the first account is as it was")
	_, err := second.Enrol(s.stored("laptops-key", "setupKey"), "laptop")
	require.NoError(t, err)

	s.key(team, s.account.Token)
	s.settle()
	s.requireReason(objects[2], v1.ReasonAccountChanged)
	s.acknowledge(s.account.ID)
	s.settle()
	s.requireReconciled(objects[1:]...)
	require.Equal(t, before[0:2], s.state()[0:2], "they are found again")
}

// TestAnAdoptionSurvivesAnotherAccount checks that adopted items are listed while the key is of
// another account, and restored to their former state after the return.
func TestAnAdoptionSurvivesAnotherAccount(t *testing.T) {
	s := newSite(t)
	network := s.administrator()
	before := s.state()
	objects := []v1.Object{
		adopting(ozgroup("dev", "Developers")), adopting(ozgroup("srv", "Servers")), adopting(web(80)), adopting(ozresource("db", network, "10.0.0.1", "Servers")), adopting(ozpeer("router")),
	}
	for _, o := range objects {
		s.apply(o)
	}
	s.settle()
	s.requireReconciled(objects...)
	adopted := get(s, web(80)).Status.Adoptions
	require.Len(t, adopted, 1)
	require.NotEmpty(t, adopted[0].Former)

	second := s.server.AddAccount("umbrella")
	s.key(team, second.Token)
	s.acknowledge(second.ID)
	s.settle()
	policy := get(s, web(80))
	require.Contains(t, policy.Status.LeftBehind, v1.LeftBehind{Account: s.account.ID, Kind: kindPolicy, ID: adopted[0].ID})
	require.Equal(t, adopted, policy.Status.Adoptions)

	s.key(team, s.account.Token)
	s.acknowledge(s.account.ID)
	s.settle()
	s.requireReconciled(objects...)
	require.Equal(t, adopted, get(s, web(80)).Status.Adoptions)
	for _, o := range slices.Backward(objects) {
		s.delete(o)
	}
	s.settle()
	require.Equal(t, before[:5], s.state()[:5], "all but the setup key of the routing peer, which the garbage collector takes")
}

// TestARoutingPeerReturns to its former account: its router and network are its own again.
func TestARoutingPeerReturns(t *testing.T) {
	s := newSite(t)
	peer := ozpeer("router")
	s.reconcile(peer)
	s.requireReconciled(peer)
	router := get(s, peer).Status.RouterID
	second := s.server.AddAccount("umbrella")
	for _, account := range []struct{ token, id string }{{second.Token, second.ID}, {s.account.Token, s.account.ID}} {
		s.key(team, account.token)
		s.acknowledge(account.id)
		s.settle()
		s.requireReconciled(peer)
	}
	require.Equal(t, router, get(s, peer).Status.RouterID)
}

// acknowledge annotates the Secret with the ID of an account.
func (s *site) acknowledge(account string) {
	s.t.Helper()
	secret := get(s, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: v1.APIKeySecret}})
	secret.Annotations = map[string]string{v1.AccountAnnotation: account}
	require.NoError(s.t, s.client.Update(s.t.Context(), secret))
}

// TestAnOutageIsReported once the server has not been read for two intervals, with the time,
// and no longer once it answers. Objects of an earlier version have no account yet.
func TestAnOutageIsReported(t *testing.T) {
	for name, broken := range map[string]openzro.Misbehaviour{
		"an outage":             openzro.Failure(http.StatusServiceUnavailable),
		"a single collection":   openzro.Failure(http.StatusInternalServerError),
		"a page of a proxy":     openzro.HTML(http.StatusOK),
		"an expired key":        openzro.Failure(http.StatusUnauthorized),
		"a user without rights": openzro.Failure(http.StatusForbidden),
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t)
			dev, key := ozgroup("dev", "Developers"), ozkey("laptops", v1.OZSetupKeySpec{})
			s.reconcile(dev, key)
			s.requireReconciled(dev, key)
			since := s.clock
			end := s.server.Fault(openzro.Call{Method: http.MethodGet, Route: "groups"}, 0, broken)
			for range 3 {
				s.look()
			}
			for _, o := range []v1.Object{dev, key} {
				condition := meta.FindStatusCondition(get(s, o).CommonStatus().Conditions, v1.ConditionServerUnavailable)
				require.NotNil(t, condition)
				require.Contains(t, condition.Message, since.UTC().Format("2006-01-02T15:04:05Z"))
				require.NotEqual(t, v1.ReasonReconciled, s.ready(o).Reason)
			}
			statuses := s.statuses.Load()
			require.NoError(t, s.once())
			require.Equal(t, statuses, s.statuses.Load(), "it is written once")
			end()
			s.look()
			s.requireReconciled(dev, key)
			require.Nil(t, meta.FindStatusCondition(dev.Status.Conditions, v1.ConditionServerUnavailable))
			s.atRest()
		})
	}
}

// TestAnOutageThatIsReportedIsLookedAtAgain checks an outage that ends between two looks of the
// keeper, which then enqueues no objects.
func TestAnOutageThatIsReportedIsLookedAtAgain(t *testing.T) {
	s := newSite(t)
	dev := ozgroup("dev", "Developers")
	s.reconcile(dev)
	s.requireReconciled(dev)
	s.clock = s.clock.Add(staleIntervals * s.options.interval)
	for _, c := range s.all {
		if c.of() != "OZGroup" {
			continue
		}
		request := reconcile.Request{NamespacedName: client.ObjectKeyFromObject(dev)}
		_, err := c.Reconcile(t.Context(), request) // writes the status, after which it looks again in any case
		require.NoError(t, err)
		result, err := c.Reconcile(t.Context(), request)
		require.NoError(t, err)
		require.NotNil(t, meta.FindStatusCondition(get(s, dev).CommonStatus().Conditions, v1.ConditionServerUnavailable))
		require.Positive(t, result.RequeueAfter)
		require.LessOrEqual(t, result.RequeueAfter, s.options.interval)
	}
}

// TestACacheThatIsBehind checks that a status from before the outage, which a stale cache
// returns, is not mistaken for the written one.
func TestACacheThatIsBehind(t *testing.T) {
	s := newSite(t)
	dev := ozgroup("dev", "Developers")
	s.reconcile(dev)
	s.requireReconciled(dev)
	before := get(s, dev).DeepCopy()
	s.clock = s.clock.Add(staleIntervals * s.options.interval)
	look := func() time.Duration {
		for _, c := range s.all {
			if c.of() == "OZGroup" {
				result, err := c.Reconcile(t.Context(), reconcile.Request{NamespacedName: client.ObjectKeyFromObject(dev)})
				require.NoError(t, err)
				return result.RequeueAfter
			}
		}
		return 0
	}
	look()
	require.Equal(t, v1.ReasonServerUnavailable, s.ready(dev).Reason)
	for _, tenant := range s.tenants.All() {
		_, err := tenant.Refresh(t.Context())
		require.NoError(t, err)
	}
	s.behind = before
	require.Positive(t, look(), "it waits for the cache")
	s.behind = nil
	look()
	s.requireReconciled(dev)
}
