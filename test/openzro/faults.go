package openzro

import (
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"time"
)

// Misbehaviour is what happens to a call in place of an answer. The next handler is the
// one that would answer it.
type Misbehaviour func(w http.ResponseWriter, r *http.Request, next http.Handler)

// fault is a misbehaviour and the calls that it happens to.
type fault struct {
	pattern Call
	left    int
	what    Misbehaviour
}

// Fault lets a misbehaviour happen to the next calls that match a pattern: to so many of
// them, or with 0 to all, until it is ended. Of several, the oldest comes first.
func (s *Server) Fault(pattern Call, times int, what Misbehaviour) (end func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	added := &fault{pattern, times, what}
	s.faults = append(s.faults, added)
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.remove(added)
	}
}

func (s *Server) remove(f *fault) {
	s.faults = slices.DeleteFunc(s.faults, func(other *fault) bool { return other == f })
}

// misbehaviour is the one for a call, if any. The lock is held.
func (s *Server) misbehaviour(call Call) Misbehaviour {
	for _, f := range s.faults {
		if !f.pattern.matches(call) {
			continue
		}
		if f.left--; f.left == 0 {
			s.remove(f)
		}
		return f.what
	}
	return nil
}

// Failure refuses with a status, in the server's own form.
func Failure(status int) Misbehaviour {
	return func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
		write(w, nil, refuse(status, "the test asks for %d", status))
	}
}

// Limit answers 429 and says when to come again, in whole seconds.
func Limit(after time.Duration) Misbehaviour {
	return func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
		w.Header().Set("Retry-After", strconv.Itoa(int(after.Seconds())))
		write(w, nil, refuse(http.StatusTooManyRequests, "too many requests"))
	}
}

// HTML answers with a page, as proxies and login forms do.
func HTML(status int) Misbehaviour {
	return func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, "<!DOCTYPE html><html><body><h1>Sign in</h1></body></html>")
	}
}

// Hang answers nothing until the caller or the server gives up.
func Hang() Misbehaviour {
	return func(_ http.ResponseWriter, r *http.Request, _ http.Handler) {
		_, _ = io.Copy(io.Discard, r.Body) // only then is it noticed that the caller is gone
		<-r.Context().Done()
		panic(http.ErrAbortHandler)
	}
}

// LoseAnswer processes the request and closes the connection without a response.
func LoseAnswer() Misbehaviour {
	return func(_ http.ResponseWriter, r *http.Request, next http.Handler) {
		next.ServeHTTP(httptest.NewRecorder(), r)
		panic(http.ErrAbortHandler)
	}
}

// After lets something happen once a call is answered, before its caller knows.
func After(what func()) Misbehaviour {
	return func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		next.ServeHTTP(w, r)
		what()
	}
}
