package registration

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	coordinationclient "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/rest"

	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/jsonpatch"
	"github.com/lintel-policy/lintel/policies/rules"
)

const (
	canaryEntry = "canary.policy.lintel.dev"
	// canaryAnnotation holds the nonce of a canary request, and answerAnnotation the nonce
	// that the mutating webhook returns.
	canaryAnnotation = "lintel.dev/canary"
	answerAnnotation = "lintel.dev/canary-answer"
	// canaryWarning precedes the nonce that the validating webhook returns.
	canaryWarning = "lintel canary "

	// CanaryInterval is the time between canary requests; the next one after a request
	// without an answer follows after a third of it.
	CanaryInterval = 3 * time.Second
	// canaryMisses is how many requests in a row must have no answer before the webhooks
	// count as not called: a replica that ends can cost one.
	canaryMisses = 4
	// canaryTimeout, in seconds, is how long the API server waits for each answer.
	canaryTimeout = 2
)

// Canary proves that the API server calls the webhooks: it sends dry-run updates of this
// replica's Lease, which the canary entries of both configurations answer with the nonce of
// the request. Every replica has one.
//
// The result holds for all entries of a configuration, because the registrar keeps their
// selectors, rules and addresses.
type Canary struct {
	leases   coordinationclient.LeaseInterface
	lease    string
	interval time.Duration
	onChange func()
	gauge    prometheus.Gauge
	missing  atomic.Pointer[string]
}

// NewCanary creates the canary of a replica. lease is the name of the Lease that the
// replica renews in namespace, and interval is CanaryInterval but for tests. onChange is called when the answer of Missing changes.
func NewCanary(config *rest.Config, namespace, lease string, interval time.Duration, registerer prometheus.Registerer, onChange func()) (*Canary, error) {
	config = rest.CopyConfig(config)
	config.WarningHandler, config.WarningHandlerWithContext = nil, warningCollector{}
	config.Timeout = 10 * time.Second
	leases, err := coordinationclient.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("setting up the client of the canary: %w", err)
	}
	c := &Canary{leases: leases.Leases(namespace), lease: lease, interval: interval, onChange: onChange, gauge: prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "lintel_webhooks_called",
		Help: "1 while the API server calls Lintel's webhooks for this replica's canary requests, else 0.",
	})}
	c.gauge.Set(1)
	return c, registerer.Register(c.gauge)
}

// Missing returns why the webhooks are not called, as a clause for a status; empty if the
// API server calls them, or if that is not known yet.
func (c *Canary) Missing() string {
	if missing := c.missing.Load(); missing != nil {
		return *missing
	}
	return ""
}

// Start sends canary requests until ctx ends.
func (c *Canary) Start(ctx context.Context) error {
	misses := 0
	for {
		pause := c.interval
		unanswered, known := c.send(ctx)
		switch {
		case !known || ctx.Err() != nil:
		case unanswered == "":
			misses = 0
			c.set("")
		default:
			pause = c.interval / 3
			if misses++; misses >= canaryMisses {
				c.set("the API server does not call the " + unanswered + " webhooks, so nothing is enforced by them: " +
					"check Service lintel-webhook, its endpoints, NetworkPolicies and the CA bundle")
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(pause):
		}
	}
}

func (c *Canary) set(missing string) {
	if missing == c.Missing() {
		return
	}
	c.missing.Store(&missing)
	c.gauge.Set(map[bool]float64{true: 1}[missing == ""])
	c.onChange()
}

// send sends one request and returns which webhooks did not answer: "mutating",
// "validating" or both. known is false if the API server did not answer the request itself,
// or if the Lease does not exist yet.
func (c *Canary) send(ctx context.Context) (unanswered string, known bool) {
	nonce := rand.Text()
	warnings := &warningTexts{}
	body, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": map[string]any{canaryAnnotation: nonce}}})
	if err != nil {
		return "", false
	}
	lease, err := c.leases.Patch(context.WithValue(ctx, warningsKey{}, warnings), c.lease, types.MergePatchType, body,
		metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}, FieldManager: fieldManager})
	return unansweredBy(lease, warnings.list(), err, nonce)
}

// unansweredBy reads the response to a canary request.
func unansweredBy(lease *coordinationv1.Lease, warnings []string, err error, nonce string) (unanswered string, known bool) {
	if err != nil {
		// A webhook that denies the request, as a busy one does, was called.
		called := apierrors.ReasonForError(err) != metav1.StatusReasonUnknown && strings.Contains(err.Error(), canaryEntry)
		return "", called
	}
	var silent []string
	if lease.Annotations[answerAnnotation] != nonce {
		silent = append(silent, "mutating")
	}
	answered := false
	for _, warning := range warnings {
		answered = answered || warning == canaryWarning+nonce
	}
	if !answered {
		silent = append(silent, "validating")
	}
	return strings.Join(silent, " and "), true
}

// warningsKey is the key of the warnings of one request in its context.
type warningsKey struct{}

// warningTexts are the warnings of one response.
type warningTexts struct {
	mutex sync.Mutex
	texts []string
}

func (w *warningTexts) list() []string {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	return w.texts
}

type warningCollector struct{}

// HandleWarningHeaderWithContext implements rest.WarningHandlerWithContext.
func (warningCollector) HandleWarningHeaderWithContext(ctx context.Context, _ int, _, text string) {
	if w, ok := ctx.Value(warningsKey{}).(*warningTexts); ok {
		w.mutex.Lock()
		defer w.mutex.Unlock()
		w.texts = append(w.texts, text)
	}
}

// CanaryProducts are the entries that answer canary requests for the Leases of replicas in
// namespace. They never keep anyone from writing a Lease: only dry-run requests call them,
// and a failure is ignored.
func CanaryProducts(namespace string) []rules.Product {
	entry := rules.Product{
		Name: "canary", Entry: canaryEntry, FailurePolicy: definition.Ignore, TimeoutSeconds: canaryTimeout,
		Rules: rules.Called(admissionregistrationv1.NamespacedScope, "coordination.k8s.io", "v1", []string{"leases"}, admissionregistrationv1.Update),
		MatchConditions: []admissionregistrationv1.MatchCondition{{
			Name: "canary-requests",
			Expression: fmt.Sprintf(`request.namespace == %q && has(request.dryRun) && request.dryRun && `+
				`has(object.metadata.annotations) && %q in object.metadata.annotations`, namespace, canaryAnnotation),
		}},
	}
	validating, mutating := entry, entry
	validating.Validate = func(_ context.Context, review *admission.Review) (*rules.Answer, error) {
		nonce, err := nonceOf(review)
		if nonce == "" {
			return &rules.Answer{}, err
		}
		return &rules.Answer{Warnings: []string{canaryWarning + nonce}}, nil
	}
	mutating.Mutate = func(_ context.Context, review *admission.Review) (*rules.Answer, error) {
		nonce, err := nonceOf(review)
		if nonce == "" {
			return &rules.Answer{}, err
		}
		value, err := json.Marshal(nonce)
		if err != nil {
			return nil, err
		}
		path := "/metadata/annotations/" + strings.ReplaceAll(answerAnnotation, "/", "~1")
		return &rules.Answer{Patch: []jsonpatch.Operation{{Op: "add", Path: path, Value: value}}}, nil
	}
	return []rules.Product{validating, mutating}
}

// nonceOf is the nonce of a canary request; empty if there is none that can be returned.
func nonceOf(review *admission.Review) (string, error) {
	text, err := review.Object()
	if err != nil {
		return "", err
	}
	var lease metav1.PartialObjectMetadata
	if err := json.Unmarshal(text, &lease); err != nil {
		return "", fmt.Errorf("reading the Lease: %w", err)
	}
	nonce := lease.Annotations[canaryAnnotation]
	if len(nonce) > 64 {
		return "", nil
	}
	return nonce, nil
}
