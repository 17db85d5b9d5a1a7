package webhooks

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/lintel-policy/lintel/policies/admission"
)

const (
	defaultTimeLimit = 5 * time.Second
	// maxTimeLimit is the most a webhook configuration may ask for.
	maxTimeLimit = 30 * time.Second
	// maxSlack is reserved for writing the answer and sending it to the API server.
	maxSlack = 250 * time.Millisecond
	// uidPrefixBytes is where a review's uid is looked for first: the API server
	// writes it before any object.
	uidPrefixBytes = 4 << 10
)

// checkHeaders validates the headers of a request before its body is read.
func checkHeaders(r *http.Request) (status int, problem string) {
	if r.Method != http.MethodPost {
		return http.StatusMethodNotAllowed, fmt.Sprintf("method %s is not served; send an AdmissionReview by POST", r.Method)
	}
	contentType := r.Header.Get("Content-Type")
	if mediaType, _, err := mime.ParseMediaType(contentType); err != nil || mediaType != "application/json" {
		return http.StatusUnsupportedMediaType, fmt.Sprintf("content type %q is not application/json", contentType)
	}
	if encoding := r.Header.Get("Content-Encoding"); encoding != "" && encoding != "identity" {
		return http.StatusUnsupportedMediaType, fmt.Sprintf("content encoding %q is not served", encoding)
	}
	return 0, ""
}

// timeLimit is the API server's patience, from the timeout parameter it adds, less
// some slack: a late answer is worth nothing.
func timeLimit(r *http.Request) time.Duration {
	limit, err := time.ParseDuration(r.URL.Query().Get("timeout"))
	if err != nil || limit <= 0 {
		limit = defaultTimeLimit
	}
	limit = min(limit, maxTimeLimit)
	return limit - min(maxSlack, limit/10)
}

// bodyReader reads bodies within a limit for each and a budget for all together:
// a decoded review takes many times the memory of its text.
type bodyReader struct {
	limit  int64
	budget *semaphore.Weighted
	total  int64
}

func newBodyReader(limit, total int64) *bodyReader {
	total = max(total, limit+1)
	return &bodyReader{limit: limit, budget: semaphore.NewWeighted(total), total: total}
}

// read returns the body, and a function that gives its share of the budget back.
// A body over the limit is a *admission.ReviewError with the uid, if it has one.
func (b *bodyReader) read(ctx context.Context, w http.ResponseWriter, r *http.Request) ([]byte, func(), error) {
	share := b.limit + 1
	if r.ContentLength >= 0 {
		share = min(share, r.ContentLength)
	}
	if err := b.budget.Acquire(ctx, share); err != nil {
		return nil, func() {}, b.overloaded(w, r)
	}
	deadline, _ := ctx.Deadline()
	limitRead(w, deadline)
	release := func() { b.budget.Release(share) }
	// Room for what the body says it is, and for the read that finds its end.
	text := bytes.NewBuffer(make([]byte, 0, max(min(share, r.ContentLength), 0)+bytes.MinRead))
	_, err := text.ReadFrom(io.LimitReader(r.Body, b.limit+1))
	body := text.Bytes()
	switch {
	case err != nil:
		// The received part may contain the uid of the request: then the answer has it, too.
		return nil, release, &admission.ReviewError{
			UID: uidIn(body), Code: http.StatusBadRequest,
			Message: fmt.Sprintf("the AdmissionReview cannot be read: %v", err),
		}
	case int64(len(body)) > b.limit:
		return nil, release, &admission.ReviewError{
			UID: uidIn(body), Code: http.StatusRequestEntityTooLarge,
			Message: fmt.Sprintf("the AdmissionReview is larger than %d bytes, the limit of Lintel", b.limit),
		}
	}
	return body, release, nil
}

// overloaded answers where the budget stayed exhausted until the deadline. A flood
// must not open the Ignore entries, so it is denied like an oversized review.
func (b *bodyReader) overloaded(w http.ResponseWriter, r *http.Request) error {
	limitRead(w, time.Now().Add(maxSlack/2))
	prefix, _ := io.ReadAll(io.LimitReader(r.Body, uidPrefixBytes))
	return &admission.ReviewError{
		UID: uidIn(prefix), Code: http.StatusTooManyRequests,
		Message: fmt.Sprintf("Lintel is reviewing %d bytes together, its limit; retry", b.total),
	}
}

// limitRead keeps a slow sender from holding its share of the budget. Not every
// ResponseWriter can; the server's own read timeout remains.
func limitRead(w http.ResponseWriter, deadline time.Time) {
	_ = http.NewResponseController(w).SetReadDeadline(deadline)
}

// uidIn finds the uid in a text that is truncated or too long to be decoded whole.
func uidIn(text []byte) string {
	for _, size := range []int{uidPrefixBytes, len(text)} {
		review, err := admission.DecodeReview(text[:min(size, len(text))])
		if err == nil {
			return review.UID
		}
		if unread, ok := err.(*admission.ReviewError); ok && unread.UID != "" {
			return unread.UID
		}
	}
	return ""
}

// write sends the answer.
func (h *Handler) write(w http.ResponseWriter, served *entry, uid string, a *answer) {
	text, err := json.Marshal(a.response(uid))
	if err != nil {
		h.options.Logger.Error("answer not encoded", "entry", served.name, "uid", uid, "error", err)
		http.Error(w, "the answer cannot be encoded", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	if _, err := w.Write(text); err != nil {
		h.options.Logger.Warn("answer not sent", "entry", served.name, "uid", uid, "error", err)
	}
}
