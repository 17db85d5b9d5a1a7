// Package openzro is a double of openZro's management server for tests. It implements the part
// of the HTTP API that manages groups, policies, setup keys, networks and DNS zones, with
// several accounts, injected faults, and a count of all calls.
//
// A real server gives the same responses: each rule is a case of the contract, which is this
// package's tests. With OPENZRO_URL and OPENZRO_TOKEN, the address of a server and the token of
// an administrator, they run against that server.
package openzro

import (
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"sync"
	"syscall"
	"time"
)

// Server is a double. It is an http.Handler too, for tests that serve it in their own way.
type Server struct {
	// URL is where it listens, without the /api that all paths begin with.
	URL string

	address string
	routes  *http.ServeMux

	mu       sync.Mutex
	accounts []*Account
	calls    map[Call]int
	faults   []*fault
	delay    time.Duration
	serving  *serving
}

// serving is one time that the server listens, from a start to a stop.
type serving struct {
	server *http.Server
	ended  chan struct{}
}

// Start starts a double on a free port of the loopback interface.
func Start() (*Server, error) {
	s := New()
	s.address = "127.0.0.1:0"
	if err := s.Resume(); err != nil {
		return nil, err
	}
	s.URL = "http://" + s.address
	return s, nil
}

// New is a double that does not listen.
func New() *Server {
	s := &Server{calls: map[Call]int{}}
	s.routes = s.newRoutes()
	return s
}

// Stop stops the server immediately, and closes all open connections. Its accounts stay.
func (s *Server) Stop() {
	s.mu.Lock()
	current := s.serving
	s.serving = nil
	s.mu.Unlock()
	if current != nil {
		_ = current.server.Close()
		<-current.ended
	}
}

// Resume lets a stopped one listen again, on the port that it had before.
func (s *Server) Resume() error {
	listener, err := listenAgain(s.address)
	if err != nil {
		return err
	}
	s.address = listener.Addr().String()
	next := &serving{server: &http.Server{Handler: s, ErrorLog: log.New(io.Discard, "", 0)}, ended: make(chan struct{})}
	s.mu.Lock()
	s.serving = next
	s.mu.Unlock()
	go func() {
		defer close(next.ended)
		_ = next.server.Serve(listener)
	}()
	return nil
}

// portTimeout is how long another process may hold the port of a stopped server.
const portTimeout = 10 * time.Second

// listenAgain waits for a port that a connection of another process may have taken.
func listenAgain(address string) (net.Listener, error) {
	deadline := time.Now().Add(portTimeout)
	for {
		listener, err := net.Listen("tcp", address)
		if err == nil {
			return listener, nil
		}
		if !errors.Is(err, syscall.EADDRINUSE) || time.Now().After(deadline) {
			return nil, fmt.Errorf("listening on %s: %w", address, err)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// SetDelay lets every answer take so much longer.
func (s *Server) SetDelay(delay time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.delay = delay
}

// ServeHTTP answers a call, or does what a fault says.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	delay, misbehave := s.note(r)
	if delay > 0 {
		select {
		case <-r.Context().Done():
			return
		case <-time.After(delay):
		}
	}
	if misbehave != nil {
		misbehave(w, r, s.routes)
		return
	}
	s.routes.ServeHTTP(w, r)
}

// note counts a call, and says how it is answered.
func (s *Server) note(r *http.Request) (time.Duration, Misbehaviour) {
	s.mu.Lock()
	defer s.mu.Unlock()
	call := s.callOf(r)
	s.calls[call]++
	return s.delay, s.misbehaviour(call)
}
