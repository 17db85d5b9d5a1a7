package openzro

import (
	"io"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	v1 "github.com/lintel-policy/lintel/api/openzro/v1"
	"github.com/lintel-policy/lintel/controllers/openzro/management"
	"github.com/lintel-policy/lintel/test/openzro"
)

// emptyList answers as if there were nothing.
func emptyList(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
	_, _ = io.WriteString(w, "[]")
}

// TestEmptyListsCreateNothing: not while the manager knows what the server had, and not after
// a restart, when only the statuses do.
func TestEmptyListsCreateNothing(t *testing.T) {
	for _, restart := range []bool{false, true} {
		s := newSite(t)
		s.twoGroups()
		network := s.network("office")
		objects := []v1.Object{web(80), ozkey("laptops", v1.OZSetupKeySpec{}), ozresource("db", network, "10.0.0.1", "Servers"), ozpeer("router")}
		for _, o := range objects {
			s.apply(o)
		}
		s.settle()
		s.requireReconciled(objects...)
		before := s.state()
		s.server.ForgetCalls()
		var ends []func()
		for _, route := range []string{"groups", "policies", "setup-keys", "networks/{id}/resources", "networks/{id}/routers", "networks"} {
			ends = append(ends, s.server.Fault(openzro.Call{Method: http.MethodGet, Route: route}, 0, emptyList))
		}
		if restart {
			s.restart()
		} else {
			s.look()
		}
		s.settle()
		require.Equal(t, before, s.state())
		require.Zero(t, s.server.Writes(openzro.Call{}))
		for _, end := range ends {
			end()
		}
		s.look()
		s.settle()
		s.requireReconciled(objects...)
		require.Equal(t, before, s.state())
		require.Zero(t, s.server.Writes(openzro.Call{}))
	}
}

// TestAMissListsAgain: a group that was created in the dashboard since the last list is found
// at once, and one that the server does not have is looked for once.
func TestAMissListsAgain(t *testing.T) {
	s := newSite(t)
	s.twoGroups()
	_, err := s.other(s.account.Token).Groups.Create(t.Context(), management.GroupRequest{Name: "Visitors"})
	require.NoError(t, err)
	policy := web(80)
	policy.Spec.SourceGroups = []string{"Visitors"}
	missing := web(81)
	missing.Name, missing.Spec.Name, missing.Spec.SourceGroups = "other", "other", []string{"Nobody"}
	s.server.ForgetCalls()
	s.apply(policy, missing)
	s.settle()
	s.requireReconciled(policy)
	s.requireReason(missing, v1.ReasonGroupNotFound)
	lists := s.server.Count(openzro.Call{Method: http.MethodGet, Route: "groups"})
	require.Equal(t, 1, lists)
	s.atRest()
}

// TestEmptyListsHideNothingFromADeletion: after a restart, when only the statuses tell what
// the server had.
func TestEmptyListsHideNothingFromADeletion(t *testing.T) {
	s := newSite(t)
	s.twoGroups()
	network := s.network("office")
	objects := []v1.Object{ozkey("laptops", v1.OZSetupKeySpec{}), ozresource("db", network, "10.0.0.1", "Servers"), ozpeer("router")}
	for _, o := range objects {
		s.apply(o)
	}
	s.settle()
	s.requireReconciled(objects...)
	for _, route := range []string{"setup-keys", "networks/{network}/resources", "networks/{network}/routers", "networks"} {
		s.server.Fault(openzro.Call{Method: http.MethodGet, Route: route}, 0, emptyList)
	}
	s.restart()
	s.server.ForgetCalls()
	for _, o := range objects {
		s.delete(o)
	}
	s.settle()
	for _, o := range objects {
		require.True(t, s.isGone(o))
	}
	for _, route := range []string{"setup-keys/{id}", "networks/{network}/resources/{id}", "networks/{network}/routers/{id}", "networks/{network}"} {
		require.NotZero(t, s.server.Count(openzro.Call{Method: http.MethodDelete, Route: route}), route)
	}
}
