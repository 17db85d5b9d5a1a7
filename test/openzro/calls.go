package openzro

import (
	"maps"
	"net/http"
	"strings"
)

// Call is a request to the server. As a pattern, its empty fields match anything.
type Call struct {
	// Account is the name of the account whose token was used, if it was a good one.
	Account string
	Method  string
	// Route is the path below /api/ with names in place of IDs: groups, groups/{id},
	// networks/{network}/resources.
	Route string
}

func (c Call) matches(other Call) bool {
	return (c.Account == "" || c.Account == other.Account) &&
		(c.Method == "" || c.Method == other.Method) &&
		(c.Route == "" || c.Route == other.Route)
}

// callOf is what a request asks. The lock is held.
func (s *Server) callOf(r *http.Request) Call {
	call := Call{Method: r.Method, Route: strings.TrimPrefix(r.URL.Path, prefix)}
	if _, pattern := s.routes.Handler(r); strings.Contains(pattern, prefix) {
		_, call.Route, _ = strings.Cut(pattern, prefix)
	}
	if user := s.userOf(r); user != nil {
		call.Account = user.account.Name
	}
	return call
}

// Calls returns all calls so far, with the number of each.
func (s *Server) Calls() map[Call]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.calls)
}

// Count is how many calls match a pattern.
func (s *Server) Count(pattern Call) (count int) {
	for call, times := range s.Calls() {
		if pattern.matches(call) {
			count += times
		}
	}
	return count
}

// Writes is how many calls that match a pattern would change something.
func (s *Server) Writes(pattern Call) (count int) {
	for call, times := range s.Calls() {
		if call.Method != http.MethodGet && pattern.matches(call) {
			count += times
		}
	}
	return count
}

// ForgetCalls resets the counts.
func (s *Server) ForgetCalls() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.calls)
}
