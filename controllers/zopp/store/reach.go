package store

import (
	"context"
	"time"

	"google.golang.org/grpc/codes"
	health "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
)

const (
	// checkTimeout is how long a server may take to answer a check.
	checkTimeout = 2 * time.Second
	// freshTimeout limits the time for a new connection to be established and answered.
	freshTimeout = 5 * time.Second
	// lastChance is how much longer a connection may take to answer than a new one.
	lastChance = 300 * time.Millisecond
)

// Check reports whether the server answers on every connection: nil if it does. It takes
// at most two seconds.
func (s *Store) Check(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	answers := checkAll(ctx, s.lines.current())
	for range cap(answers) {
		if answer := <-answers; answer.err != nil {
			return answer.err
		}
	}
	return nil
}

// Reconnect returns nil once the server answers. It replaces connections that work only after a
// reconnect, and ends their calls and streams: silent packet loss would otherwise be noticed
// only after a timeout.
func (s *Store) Reconnect(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, freshTimeout)
	defer cancel()
	fresh, err := s.lines.dial()
	if err != nil {
		return err
	}
	known := s.lines.current()
	answers := checkAll(ctx, known)
	if err := fresh.check(ctx); err != nil {
		_ = fresh.connection.Close()
		return err
	}
	limit := time.NewTimer(lastChance)
	defer limit.Stop()
	dead := map[*pooledConnection]bool{}
	for _, each := range known {
		dead[each] = true
	}
	for waiting := len(known); waiting > 0; waiting-- {
		select {
		case answer := <-answers:
			if answer.err == nil {
				delete(dead, answer.on)
			}
			continue
		case <-limit.C:
		}
		break
	}
	if err := ctx.Err(); err != nil { // then a missing answer means nothing
		_ = fresh.connection.Close()
		return err
	}
	var replaced []*pooledConnection
	for _, each := range known {
		if dead[each] {
			replaced = append(replaced, each)
		}
	}
	s.lines.replace(replaced, fresh)
	return nil
}

// answer is the outcome of a check.
type answer struct {
	on  *pooledConnection
	err error
}

// checkAll checks connections at the same time. The channel has room for all answers.
func checkAll(ctx context.Context, all []*pooledConnection) chan answer {
	answers := make(chan answer, len(all))
	for _, each := range all {
		go func() { answers <- answer{each, each.check(ctx)} }()
	}
	return answers
}

// check requests the server's health, which needs no credentials. Any response counts, even that
// the method is unknown. A busy connection has no free stream for the request: the response would be
// late, although the server answers.
func (l *pooledConnection) check(ctx context.Context) error {
	if l.isBusy() {
		return nil
	}
	if _, err := health.NewHealthClient(l.connection).Check(ctx, &health.HealthCheckRequest{}); isLost(err) {
		return err
	}
	return nil
}

// isLost reports whether a call ended without an answer of the server.
func isLost(err error) bool {
	switch status.Code(err) {
	case codes.Unavailable, codes.DeadlineExceeded, codes.Canceled:
		return true
	}
	return false
}
