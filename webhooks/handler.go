package webhooks

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	gopath "path"
	"runtime"
	"runtime/debug"
	"strings"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/clusterdata"
	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/engine"
	"github.com/lintel-policy/lintel/policies/hierarchy"
	"github.com/lintel-policy/lintel/policies/rules"
	"github.com/lintel-policy/lintel/webhooks/registration"
)

// DefaultMaxReviewBytes is above what the API server can send: an object and its
// predecessor at the largest size etcd stores, and room for their encoding.
const DefaultMaxReviewBytes = 8 << 20

// Decider decides reviews: an *engine.Snapshot.
type Decider interface {
	Digest() string
	// Concerns says whether a policy may be about a review.
	Concerns(review *admission.Review) bool
	// Scope returns the scope with an ID, of those that have policies.
	Scope(id string) (hierarchy.Key, bool)
	// Tenant names the scope below the enterprise that the object belongs to, if any.
	Tenant(review *admission.Review) string
	Mutate(ctx context.Context, review *admission.Review, options engine.Options) *engine.Mutation
	Validate(ctx context.Context, review *admission.Review, options engine.Options) *engine.Decision
}

// reviewsPerCPU is the number of reviews that are evaluated in parallel for each CPU. With more
// reviews in parallel, each takes longer, and the API server waits for a limited time only.
const reviewsPerCPU = 4

// HandlerOptions are what a Handler needs.
type HandlerOptions struct {
	// Snapshot is the one that is live, nil as long as no policies are loaded.
	Snapshot   func() *engine.Snapshot
	Namespaces rules.NamespaceGetter
	// Cluster is what policies with `requires` read, as it is now; nil is nothing.
	Cluster func() *clusterdata.Objects
	// Scopes selects the scopes whose policies the enterprise's entries evaluate: those that
	// have no entries of their own in force. nil selects all.
	Scopes   func(hierarchy.Key) bool
	Products []rules.Product
	// Own reports whether a review is about a write by Lintel's own controllers of an object that
	// they control: see engine.Options. If Own is nil, there are no such writes.
	Own func(*admission.Review) bool
	// Denied is called with the reviews that are denied, and the texts of the denials, after the
	// answer. It must not block. nil is not called.
	Denied    func(review *admission.Review, texts []string)
	Metrics   *Metrics
	Decisions DecisionLog
	// Recorder stores decided reviews; nil stores none.
	Recorder *Recorder
	Logger   *slog.Logger
	// Tracer makes a span for each review, below which the engine makes one for each
	// policy; nil makes none.
	Tracer trace.Tracer
	// MaxReviewBytes is the size of the largest body that is evaluated; DefaultMaxReviewBytes if
	// 0.
	MaxReviewBytes int64
	// MaxBytesInFlight bounds the bodies of all requests together; four times
	// MaxReviewBytes if 0.
	MaxBytesInFlight int64
}

// Handler answers AdmissionReviews on the paths of all entries.
type Handler struct {
	options HandlerOptions
	entries map[string]*entry // by path
	current func() Decider    // nil = not loaded
	bodies  *bodyReader
	limiter *reviewLimiter
	// slowEntries is the limiter of entries of products that are slow, and slow that of policies.
	slowEntries *reviewLimiter
	slow        *slowReviews
	throttle    *throttle
	now         func() time.Time
}

// entry is one webhook entry of a configuration.
type entry struct {
	// name is the entry's in the configuration, after "validate/" or "mutate/":
	// both configurations have entries of the same names.
	name          string
	failurePolicy definition.FailurePolicy
	slow          bool // see rules.Product
	evaluate      func(ctx context.Context, review *admission.Review) (*answer, error)
	// ofScope is evaluate for the entry of a scope below the enterprise; nil where there is none.
	ofScope func(ctx context.Context, review *admission.Review, scope string) (*answer, error)
}

// NewHandler makes the handler. Its error is a product that cannot be served.
func NewHandler(options HandlerOptions) (*Handler, error) {
	limit := cmp.Or(options.MaxReviewBytes, DefaultMaxReviewBytes)
	h := &Handler{
		options:     options,
		entries:     map[string]*entry{},
		bodies:      newBodyReader(limit, cmp.Or(options.MaxBytesInFlight, 4*limit)),
		limiter:     newReviewLimiter(reviewsPerCPU * runtime.GOMAXPROCS(0)),
		slowEntries: newReviewLimiter(reviewsPerCPU * runtime.GOMAXPROCS(0)),
		slow:        newSlowReviews(slowRoom(runtime.GOMAXPROCS(0)), max(limit, cmp.Or(options.MaxBytesInFlight, 4*limit)/2)),
		throttle:    newThrottle(throttledCPUs()),
		now:         time.Now,
		current: func() Decider {
			if snapshot := options.Snapshot(); snapshot != nil {
				return snapshot
			}
			return nil
		},
	}
	for _, policy := range []definition.FailurePolicy{definition.Ignore, definition.Fail} {
		name := registration.PolicyEntry(policy)
		h.entries[registration.ValidatePath+registration.PolicySegment(policy)] = policyEntry("validate/"+name, policy, h.validateBy(policy))
		h.entries[registration.MutatePath+registration.PolicySegment(policy)] = policyEntry("mutate/"+name, policy, h.mutateBy(policy))
	}
	for _, product := range options.Products {
		path, served, err := productEntry(product)
		if err != nil {
			return nil, err
		}
		if h.entries[path] != nil {
			return nil, fmt.Errorf("product %s: path %s is served already", product.Entry, path)
		}
		h.entries[path] = served
	}
	return h, nil
}

// policyEntry is an entry for policies, of which each scope below the enterprise has its own.
func policyEntry(name string, policy definition.FailurePolicy, evaluate func(context.Context, *admission.Review, string) (*answer, error)) *entry {
	return &entry{
		name: name, failurePolicy: policy, ofScope: evaluate,
		evaluate: func(ctx context.Context, review *admission.Review) (*answer, error) { return evaluate(ctx, review, "") },
	}
}

// entryAt is the entry that is served at a path; nil if there is none. The path of a scope's
// entry is that of the enterprise's and the ID of the scope.
func (h *Handler) entryAt(path string) *entry {
	if served := h.entries[path]; served != nil {
		return served
	}
	prefix, scope := gopath.Split(path)
	served := h.entries[strings.TrimSuffix(prefix, "/")]
	if served == nil || served.ofScope == nil || scope == "" {
		return nil
	}
	own := *served
	own.evaluate = func(ctx context.Context, review *admission.Review) (*answer, error) {
		return served.ofScope(ctx, review, scope)
	}
	return &own
}

func productEntry(product rules.Product) (path string, served *entry, err error) {
	prefix, evaluate := registration.ValidatePath, product.Validate
	if product.Mutate != nil {
		prefix, evaluate = registration.MutatePath, product.Mutate
	}
	switch {
	case product.Name == "" || strings.Contains(product.Name, "/"):
		return "", nil, fmt.Errorf("product %s: name %q is not one path segment", product.Entry, product.Name)
	case (product.Validate == nil) == (product.Mutate == nil):
		return "", nil, fmt.Errorf("product %s: exactly one of Validate and Mutate is wanted", product.Entry)
	}
	return prefix + product.Name, &entry{
		name:          strings.TrimPrefix(prefix, "/") + product.Entry,
		failurePolicy: product.FailurePolicy,
		slow:          product.Slow,
		evaluate: func(ctx context.Context, review *admission.Review) (*answer, error) {
			verdict, err := evaluate(ctx, review)
			if err != nil {
				return nil, err
			}
			if product.Mutate == nil && len(verdict.Patch) > 0 {
				return nil, errors.New("a validating webhook returned a patch")
			}
			return productAnswer(verdict, product.Entry)
		},
	}, nil
}

// ServeHTTP implements http.Handler.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	start := h.now()
	served := h.entryAt(r.URL.Path)
	if served == nil {
		http.NotFound(w, r)
		return
	}
	if status, problem := checkHeaders(r); problem != "" {
		if status == http.StatusMethodNotAllowed {
			w.Header().Set("Allow", http.MethodPost)
		}
		http.Error(w, problem, status)
		return
	}
	ctx, span := h.startSpan(r, served.name)
	defer span.End()
	ctx, cancel := context.WithDeadline(ctx, start.Add(timeLimit(r)))
	defer cancel()

	body, release, err := h.bodies.read(ctx, w, r)
	defer release()
	var recording *recording
	if h.options.Recorder != nil && served.ofScope != nil {
		recording = newRecording(served.name, start)
		ctx = withRecording(ctx, recording)
	}
	review, a := h.answer(ctx, served, body, err)
	uid := uidOf(review, a)
	took := h.now().Sub(start)
	h.options.Metrics.observe(served.name, review, a, took)
	h.options.Decisions.write(ctx, served.name, uid, review, a, took)
	describe(span, uid, review, a)
	if uid == "" {
		http.Error(w, a.failure.Error(), http.StatusBadRequest)
		return
	}
	h.write(w, served, uid, a)
	if h.options.Denied != nil && review != nil && a.failure == nil && !a.allowed() {
		h.options.Denied(review, a.denialTexts)
	}
	if recording != nil {
		h.record(served, recording, body, review, a)
	}
}

// record stores a decided review. A panic must not abort the response.
func (h *Handler) record(served *entry, recording *recording, body []byte, review *admission.Review, a *answer) {
	if review == nil {
		return
	}
	err := h.recovering(served, func() error {
		h.options.Recorder.record(recording, body, review, a, h.tenant(served, review))
		return nil
	})
	if err != nil {
		h.options.Recorder.drop(droppedMask, 1)
	}
}

// answer decodes and evaluates a review, which is nil if it cannot be read.
func (h *Handler) answer(ctx context.Context, served *entry, body []byte, readErr error) (review *admission.Review, a *answer) {
	var unread *admission.ReviewError
	switch {
	case errors.As(readErr, &unread):
		return nil, unreadable(unread)
	case readErr != nil:
		return nil, unreadable(&admission.ReviewError{Code: http.StatusBadRequest, Message: readErr.Error()})
	}
	// A panic on the way to the uid leaves nothing to answer to.
	err := h.recovering(served, func() (err error) {
		review, err = admission.DecodeReview(body)
		return err
	})
	switch {
	case errors.As(err, &unread):
		return nil, unreadable(unread)
	case err != nil:
		return nil, unreadable(&admission.ReviewError{Code: http.StatusInternalServerError, Message: err.Error()})
	}
	a, err = h.evaluate(ctx, served, review, int64(len(body)))
	if errors.Is(err, admission.ErrBusy) {
		return review, unreadable(&admission.ReviewError{UID: review.UID, Code: http.StatusTooManyRequests, Message: err.Error()})
	}
	if err != nil {
		h.options.Logger.ErrorContext(ctx, "review failed", "entry", served.name, "uid", review.UID, "error", err)
		a = undecided(served.failurePolicy, err)
	}
	return review, a
}

// recovering turns a panic into an error, so that it costs one request, not the process.
func (h *Handler) recovering(served *entry, f func() error) (err error) {
	defer func() {
		if cause := recover(); cause != nil {
			h.options.Metrics.panics.WithLabelValues(served.name).Inc()
			h.options.Logger.Error("panic while answering a review", "entry", served.name,
				"panic", truncate(fmt.Sprint(cause), maxLoggedWords), "stack", string(debug.Stack()))
			err = errPanic
		}
	}()
	return f()
}

var (
	errNotLoaded = errors.New("no policies are loaded")
	errPanic     = errors.New("an internal error, of which the log has the stack trace")
	errOutOfTime = errors.New("the policies were not evaluated within the timeout of the request; retry")
)

func uidOf(review *admission.Review, a *answer) string {
	var unread *admission.ReviewError
	switch {
	case review != nil:
		return review.UID
	case errors.As(a.failure, &unread):
		return unread.UID
	default:
		return ""
	}
}
