package main

import (
	"bytes"
	"context"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/lintel-policy/lintel/test/cluster/internal/process"
)

// order is what commands ask of the supervisor over its loopback port.
type order struct {
	// Stop and Start name components; both with the same names is a restart.
	// A pointer to no names means all of them.
	Stop  *[]string `json:"stop,omitempty"`
	Start *[]string `json:"start,omitempty"`
	// Owner joins the processes that keep the cluster alive.
	Owner *process.Identity `json:"owner,omitempty"`
	// Disown keeps the cluster until down, without an owner.
	Disown bool `json:"disown,omitempty"`
}

// listen serves orders until the returned function is called.
func (s *supervisor) listen() (func(), error) {
	listener, err := listenAnywhere()
	if err != nil {
		return nil, fmt.Errorf("opening the control port: %w", err)
	}
	s.state.Control = endpoint{Address: listener.Addr().String(), Token: randomToken()}
	server := &http.Server{Handler: s, ReadHeaderTimeout: 5 * time.Second}
	go func() { _ = server.Serve(listener) }()
	return func() { _ = server.Close() }, nil
}

// ServeHTTP carries out one order from a caller that can read the state file.
func (s *supervisor) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	given := []byte(r.Header.Get("Authorization"))
	if subtle.ConstantTimeCompare(given, []byte("Bearer "+s.state.Control.Token)) != 1 {
		http.Error(w, "wrong token", http.StatusUnauthorized)
		return
	}
	var o order
	if err := json.NewDecoder(io.LimitReader(r.Body, 1<<16)).Decode(&o); err != nil {
		http.Error(w, "not an order: "+err.Error(), http.StatusBadRequest)
		return
	}
	if err := s.carryOut(r.Context(), o); err != nil {
		http.Error(w, err.Error(), http.StatusConflict)
	}
}

func (s *supervisor) carryOut(ctx context.Context, o order) error {
	s.order.Lock()
	defer s.order.Unlock()
	if o.Disown || o.Owner != nil {
		if err := s.changeOwners(o); err != nil {
			return err
		}
	}
	stopping, err := chooseOptional(s.all, o.Stop)
	if err != nil {
		return err
	}
	starting, err := chooseOptional(s.all, o.Start)
	if err != nil {
		return err
	}
	// Clients stop before the API server: it waits for their watches to end.
	lost := disconnected(s.all, starting, func(name string) bool {
		return s.fleet.runs(name) && !contains(stopping, name)
	})
	s.fleet.stopAll(inOrder(s.all, slices.Concat(stopping, lost)))
	return s.fleet.startAll(ctx, inOrder(s.all, slices.Concat(starting, lost)))
}

// changeOwners adds an owner. A cluster without owners lives until down, and
// an owner that comes later does not change that.
func (s *supervisor) changeOwners(o order) error {
	s.mu.Lock()
	switch {
	case o.Disown:
		s.state.Owners = nil
	case len(s.state.Owners) > 0:
		s.state.Owners = append(s.state.Owners[:len(s.state.Owners):len(s.state.Owners)], *o.Owner)
	}
	s.mu.Unlock()
	return s.save()
}

// send gives an order to the supervisor and waits until it is carried out.
func (e endpoint) send(ctx context.Context, o order) error {
	body, err := json.Marshal(o)
	if err != nil {
		return fmt.Errorf("encoding the order: %w", err)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+e.Address, bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("asking the supervisor: %w", err)
	}
	request.Header.Set("Authorization", "Bearer "+e.Token)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		if ctx.Err() != nil {
			return fmt.Errorf("waiting for the supervisor: %w", context.Cause(ctx))
		}
		return fmt.Errorf("asking the supervisor: %w: %w", errEnding, err)
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		message, _ := io.ReadAll(io.LimitReader(response.Body, 1<<16))
		return errors.New(strings.TrimSpace(string(message)))
	}
	return nil
}
