package webhooks

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/engine"
	"github.com/lintel-policy/lintel/policies/hierarchy"
	"github.com/lintel-policy/lintel/policies/jsonpatch"
	"github.com/lintel-policy/lintel/policies/policyset"
	"github.com/lintel-policy/lintel/policies/rules"
)

// decisions injects what an engine would say, and faults.
type decisions struct {
	validate func(context.Context, *admission.Review, engine.Options) *engine.Decision
	mutate   func(context.Context, *admission.Review, engine.Options) *engine.Mutation
}

func (d decisions) Digest() string { return "sha256:0123456789abcdef" }

func (d decisions) Concerns(*admission.Review) bool { return true }

func (d decisions) Scope(string) (hierarchy.Key, bool) { return hierarchy.Key{}, false }
func (d decisions) Tenant(*admission.Review) string    { return "" }

func (d decisions) Validate(ctx context.Context, r *admission.Review, o engine.Options) *engine.Decision {
	if d.validate == nil {
		return &engine.Decision{}
	}
	return d.validate(ctx, r, o)
}

func (d decisions) Mutate(ctx context.Context, r *admission.Review, o engine.Options) *engine.Mutation {
	if d.mutate == nil {
		return &engine.Mutation{}
	}
	return d.mutate(ctx, r, o)
}

func says(decision engine.Decision) decisions {
	return decisions{validate: func(context.Context, *admission.Review, engine.Options) *engine.Decision { return &decision }}
}

type namespacesFunc func(name string) ([]byte, error)

func (f namespacesFunc) Namespace(_ context.Context, name string) ([]byte, error) { return f(name) }

func accept(context.Context, *admission.Review) (*rules.Answer, error) { return &rules.Answer{}, nil }

// fixture is a handler and its output.
type fixture struct {
	*Handler
	log      *bytes.Buffer
	registry *prometheus.Registry
}

func newFixture(t testing.TB, decider Decider, change func(*HandlerOptions)) fixture {
	t.Helper()
	f := fixture{log: &bytes.Buffer{}, registry: prometheus.NewRegistry()}
	metrics := NewMetrics(f.registry)
	options := HandlerOptions{
		Namespaces: namespacesFunc(func(name string) ([]byte, error) {
			return json.Marshal(map[string]any{"metadata": map[string]any{"name": name}})
		}),
		Metrics:        metrics,
		Decisions:      DecisionLog{Logger: slog.New(slog.NewJSONHandler(f.log, nil)), Mode: LogAll},
		Logger:         slog.New(slog.NewTextHandler(io.Discard, nil)),
		MaxReviewBytes: 64 << 10,
	}
	if change != nil {
		change(&options)
	}
	var err error
	f.Handler, err = NewHandler(options)
	require.NoError(t, err)
	f.current = func() Decider { return decider }
	return f
}

func (f fixture) post(path string, body string) *httptest.ResponseRecorder {
	request := httptest.NewRequest(http.MethodPost, path, strings.NewReader(body))
	request.Header.Set("Content-Type", "application/json; charset=utf-8")
	recorder := httptest.NewRecorder()
	f.ServeHTTP(recorder, request)
	return recorder
}

func (f fixture) ask(t *testing.T, path string, body string) *admissionv1.AdmissionResponse {
	t.Helper()
	return responseOf(t, f.post(path, body))
}

func responseOf(t testing.TB, recorder *httptest.ResponseRecorder) *admissionv1.AdmissionResponse {
	t.Helper()
	require.Equal(t, http.StatusOK, recorder.Code, recorder.Body.String())
	assert.Equal(t, "application/json", recorder.Header().Get("Content-Type"))
	var review admissionv1.AdmissionReview
	require.NoError(t, json.Unmarshal(recorder.Body.Bytes(), &review))
	assert.Equal(t, "admission.k8s.io/v1", review.APIVersion)
	assert.Equal(t, "AdmissionReview", review.Kind)
	require.NotNil(t, review.Response)
	return review.Response
}

const podRequest = `{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":"u-1",
"kind":{"group":"","version":"v1","kind":"Pod"},"resource":{"group":"","version":"v1","resource":"pods"},
"operation":"CREATE","namespace":"shop","userInfo":{"username":"jane","groups":["secret-group"],"extra":{"k":["secret-extra"]}},
"object":{"apiVersion":"v1","kind":"Pod","metadata":{"generateName":"web-","labels":{"body":"secret-label"}}},"dryRun":true}}`

func finding(words string) engine.Finding {
	return engine.Finding{
		Words: words, Policy: "team.labels", Rule: "deny", Location: definition.Location{File: "team.rego", Line: 7},
		Source: "team", Revision: "sha256:abcdefabcdefabcdef",
	}
}

func TestValidate(t *testing.T) {
	var asked engine.Options
	decider := decisions{validate: func(_ context.Context, _ *admission.Review, options engine.Options) *engine.Decision {
		asked = options
		denial := finding("no team")
		denial.Code = 418
		return &engine.Decision{
			Denials:  []engine.Finding{denial, finding("no owner")},
			Warnings: []engine.Finding{finding("old\napi")},
			Audits:   []engine.Finding{{Policy: "team.audit", Words: "would be denied"}},
			Policies: 3,
		}
	}}
	f := newFixture(t, decider, nil)
	response := f.ask(t, "/validate/ignore?timeout=5s", podRequest)

	assert.EqualValues(t, "u-1", response.UID)
	assert.False(t, response.Allowed)
	assert.EqualValues(t, 403, response.Result.Code)
	assert.EqualValues(t, "Forbidden", response.Result.Reason)
	assert.Equal(t, "no team [team.labels deny, team.rego:7, team@abcdefabcdef]\n"+
		"no owner [team.labels deny, team.rego:7, team@abcdefabcdef]", response.Result.Message)
	assert.Equal(t, []string{"old api [team.labels deny, team.rego:7, team@abcdefabcdef]"}, response.Warnings,
		"a control character would lose the warning")
	assert.Equal(t, map[string]string{
		"decision": "denied", "policies": "team.labels,team.audit", "codes": "418", "snapshot": "0123456789ab",
	}, response.AuditAnnotations)

	assert.Equal(t, definition.Ignore, asked.FailurePolicy)
	shop, err := engine.ReadNamespace([]byte(`{"metadata":{"name":"shop"}}`))
	require.NoError(t, err)
	assert.Equal(t, shop, asked.Namespace)
	assert.WithinDuration(t, time.Now(), asked.Clock(), time.Minute)

	assert.InDelta(t, 1, testutil.ToFloat64(f.options.Metrics.requests.WithLabelValues("validate/ignore.policies.lintel.dev", "CREATE", "denied")), 0)
}

func TestMutate(t *testing.T) {
	mutation := &engine.Mutation{Patch: []jsonpatch.Operation{{Op: "add", Path: "/metadata/labels/team", Value: []byte(`"a"`)}}}
	f := newFixture(t, decisions{mutate: func(context.Context, *admission.Review, engine.Options) *engine.Mutation { return mutation }}, nil)

	response := f.ask(t, "/mutate/fail", podRequest)
	assert.True(t, response.Allowed)
	assert.JSONEq(t, `[{"op":"add","path":"/metadata/labels/team","value":"a"}]`, string(response.Patch))
	assert.Equal(t, admissionv1.PatchTypeJSONPatch, *response.PatchType)
	assert.InDelta(t, 1, testutil.ToFloat64(f.options.Metrics.requests.WithLabelValues("mutate/fail.policies.lintel.dev", "CREATE", "mutated")), 0)

	mutation.Denials = []engine.Finding{finding("never settles")}
	response = f.ask(t, "/mutate/fail", podRequest)
	assert.False(t, response.Allowed)
	assert.Nil(t, response.Patch)

	mutation.Denials, mutation.Patch = nil, nil
	response = f.ask(t, "/mutate/fail", podRequest)
	assert.True(t, response.Allowed)
	assert.Nil(t, response.PatchType)

	mutation.Patch = []jsonpatch.Operation{{Op: "add", Path: "/x", Value: []byte(`{`)}}
	response = f.ask(t, "/mutate/fail", podRequest)
	assert.False(t, response.Allowed, "a patch that is not JSON is an error, not an empty patch")
	assert.EqualValues(t, 500, response.Result.Code)
}

// TestEntriesOfScopes: each evaluates the policies of its scope, and a denial lists what the
// policies of all scopes say.
func TestEntriesOfScopes(t *testing.T) {
	compile := func(name string, scope hierarchy.Scope) *engine.PolicySet {
		set, err := policyset.Compile(definition.Source{
			Name: name, FailurePolicy: definition.Fail, Scope: scope, Files: map[string]string{"p.rego": "package " + name + "\ndeny contains \"no\""},
		})
		require.NoError(t, err)
		return set
	}
	snapshot := engine.NewSnapshot(admission.BuiltinResources(), compile("acme", hierarchy.Scope{Level: hierarchy.Enterprise}),
		compile("team", hierarchy.Scope{Level: hierarchy.Team, Name: "shop", Namespaces: []string{"shop"}}))
	f := newFixture(t, snapshot, nil)
	for path, want := range map[string]string{
		"/validate/fail":             "acme,team",
		"/validate/fail/enterprise":  "acme",
		"/validate/fail/team-shop":   "team",
		"/validate/ignore/team-shop": "",
		"/validate/fail/team-gone":   "",
		"/mutate/fail/team-shop":     "",
	} {
		response := f.ask(t, path, podRequest)
		require.Equal(t, want == "", response.Allowed, path)
		require.Equal(t, want, response.AuditAnnotations["policies"], path)
		if want != "" {
			require.Regexp(t, `^no \[acme deny, .*\]\nno \[team deny, .*\]$`, response.Result.Message, path)
		}
	}
	separate := newFixture(t, snapshot, func(o *HandlerOptions) {
		o.Scopes = func(scope hierarchy.Key) bool { return scope.Level == hierarchy.Enterprise }
	})
	response := separate.ask(t, "/validate/fail", podRequest)
	require.Equal(t, "acme", response.AuditAnnotations["policies"])
	require.Contains(t, response.Result.Message, "[team deny")
	for _, path := range []string{"/validate/fail/", "/validate/fail/team-shop/x", "/validate/other/team-shop", "/validate//team-shop"} {
		require.Equal(t, http.StatusNotFound, f.post(path, podRequest).Code, path)
	}
}

// TestNoEvaluation: the failure policy answers, and only it.
func TestNoEvaluation(t *testing.T) {
	panics := decisions{
		validate: func(context.Context, *admission.Review, engine.Options) *engine.Decision { panic("secret state") },
		mutate:   func(context.Context, *admission.Review, engine.Options) *engine.Mutation { panic("secret state") },
	}
	noNamespace := func(o *HandlerOptions) {
		o.Namespaces = namespacesFunc(func(string) ([]byte, error) { return nil, errors.New("cache is gone") })
	}
	tests := []struct {
		name    string
		decider Decider
		change  func(*HandlerOptions)
		code    int32
		text    string
	}{
		{"panic", panics, nil, 500, "internal error"},
		{"no snapshot", nil, nil, 503, "Lintel has not loaded its policies yet; retry"},
		{"no namespace", decisions{}, noNamespace, 500, "cache is gone"},
	}
	for _, test := range tests {
		for _, verb := range []string{"validate", "mutate"} {
			t.Run(test.name+" "+verb, func(t *testing.T) {
				f := newFixture(t, test.decider, test.change)
				denied := f.ask(t, "/"+verb+"/fail", podRequest)
				assert.False(t, denied.Allowed)
				assert.Equal(t, test.code, denied.Result.Code)
				assert.Contains(t, denied.Result.Message, test.text)
				assert.NotContains(t, denied.Result.Message, "secret")

				admitted := f.ask(t, "/"+verb+"/ignore", podRequest)
				assert.True(t, admitted.Allowed)
				require.Len(t, admitted.Warnings, 1)
				assert.Contains(t, admitted.Warnings[0], test.text)
				assert.InDelta(t, 1, testutil.ToFloat64(f.options.Metrics.requests.WithLabelValues(
					verb+"/ignore.policies.lintel.dev", "CREATE", "error")), 0)
			})
		}
	}
}

func TestClusterScopedObjectsHaveNoNamespace(t *testing.T) {
	f := newFixture(t, decisions{}, func(o *HandlerOptions) {
		o.Namespaces = namespacesFunc(func(string) ([]byte, error) { return nil, errors.New("asked") })
	})
	creation := strings.NewReplacer(`"pods"`, `"namespaces"`, `"kind":"Pod"`, `"kind":"Namespace"`).Replace(podRequest)
	assert.True(t, f.ask(t, "/validate/fail", creation).Allowed, "a Namespace does not exist before it is created")
	assert.True(t, f.ask(t, "/validate/fail", strings.Replace(podRequest, `"namespace":"shop",`, "", 1)).Allowed)
}

// TestUnreadable: bad input never passes under either failure policy.
func TestUnreadable(t *testing.T) {
	padding := strings.Repeat(" ", 64<<10)
	deep := strings.Repeat("[", 2000) + strings.Repeat("]", 2000)
	tests := []struct {
		name, body string
		code       int32 // 0 = no uid: HTTP 400
		text       string
	}{
		{"empty", "", 0, "cannot be read"},
		{"no JSON", "hello", 0, "cannot be read"},
		{"a list", "[]", 0, "must be an AdmissionReview"},
		{"truncated before the uid", podRequest[:80], 0, "cannot be read"},
		{"truncated behind the uid", podRequest[:len(podRequest)-20], 400, "cannot be read"},
		{"another apiVersion", strings.Replace(podRequest, "k8s.io/v1", "k8s.io/v1beta1", 1), 400, "v1beta1"},
		{"another kind", strings.Replace(podRequest, "AdmissionReview", "Status", 1), 400, "Status"},
		{"no request", `{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1"}`, 0, "no request"},
		{"no uid", strings.Replace(podRequest, `"uid":"u-1",`, "", 1), 0, "uid"},
		{"another operation", strings.Replace(podRequest, "CREATE", "PATCH", 1), 400, "PATCH"},
		{"duplicate keys", strings.Replace(podRequest, `"dryRun"`, `"namespace":"other","dryRun"`, 1), 400, "duplicate"},
		{"deep nesting", strings.Replace(podRequest, `"secret-label"`, deep, 1), 400, "deeper"},
		{"invalid UTF-8", strings.Replace(podRequest, "secret-label", "\xff", 1), 400, "UTF-8"},
		{"two values", podRequest + podRequest, 400, "more than one"},
		{"padded with blanks", podRequest + padding, 413, "larger than 65536 bytes"},
		{"padded inside", strings.Replace(podRequest, "secret-label", strings.Repeat("x", 80<<10), 1), 413, "larger than"},
		{"padded before", padding + podRequest, 0, "larger than"},
		{"the uid late", strings.Replace(podRequest, `"request"`, `"x":"`+padding[:20<<10]+`","request"`, 1) + padding, 413, "larger than"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			for _, path := range []string{"/validate/fail", "/validate/ignore", "/mutate/fail", "/mutate/ignore", "/validate/policysource"} {
				f := newFixture(t, decisions{}, func(o *HandlerOptions) {
					o.Products = []rules.Product{{Name: "policysource", Entry: "policysource.policy.lintel.dev", Validate: accept}}
				})
				recorder := f.post(path, test.body)
				if test.code == 0 {
					assert.Equal(t, http.StatusBadRequest, recorder.Code)
					assert.Contains(t, recorder.Header().Get("Content-Type"), "text/plain")
					assert.Contains(t, recorder.Body.String(), test.text)
					continue
				}
				response := responseOf(t, recorder)
				assert.EqualValues(t, "u-1", response.UID)
				assert.False(t, response.Allowed)
				assert.Equal(t, test.code, response.Result.Code)
				assert.Contains(t, response.Result.Message, test.text)
			}
		})
	}
}

func TestHeaders(t *testing.T) {
	f := newFixture(t, decisions{}, nil)
	tests := []struct {
		name, method, path, contentType, encoding string
		status                                    int
	}{
		{"plain", http.MethodPost, "/validate/fail", "application/json", "", 200},
		{"GET", http.MethodGet, "/validate/fail", "application/json", "", 405},
		{"PUT", http.MethodPut, "/validate/fail", "application/json", "", 405},
		{"no content type", http.MethodPost, "/validate/fail", "", "", 415},
		{"YAML", http.MethodPost, "/validate/fail", "application/yaml", "", 415},
		{"compressed", http.MethodPost, "/validate/fail", "application/json", "gzip", 415},
		{"another path", http.MethodPost, "/validate/other", "application/json", "", 404},
		{"a longer path", http.MethodPost, "/validate/fail/x/y", "application/json", "", 404},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			request := httptest.NewRequest(test.method, test.path, strings.NewReader(podRequest))
			request.Header.Set("Content-Type", test.contentType)
			request.Header.Set("Content-Encoding", test.encoding)
			recorder := httptest.NewRecorder()
			f.ServeHTTP(recorder, request)
			assert.Equal(t, test.status, recorder.Code)
		})
	}
}

func TestDeadline(t *testing.T) {
	tests := map[string]time.Duration{
		"":               4750 * time.Millisecond,
		"?timeout=5s":    4750 * time.Millisecond,
		"?timeout=1s":    900 * time.Millisecond,
		"?timeout=30s":   29750 * time.Millisecond,
		"?timeout=1h":    29750 * time.Millisecond,
		"?timeout=-1s":   4750 * time.Millisecond,
		"?timeout=later": 4750 * time.Millisecond,
	}
	for query, want := range tests {
		var got time.Duration
		f := newFixture(t, decisions{validate: func(ctx context.Context, _ *admission.Review, _ engine.Options) *engine.Decision {
			deadline, _ := ctx.Deadline()
			got = time.Until(deadline)
			return &engine.Decision{}
		}}, nil)
		f.ask(t, "/validate/fail"+query, podRequest)
		assert.InDelta(t, want.Seconds(), got.Seconds(), 0.5, query)
		assert.Less(t, got, want, query)
	}
}

func TestLongAnswersAreCut(t *testing.T) {
	var decision engine.Decision
	for i := range 500 {
		decision.Denials = append(decision.Denials, finding(fmt.Sprint(i, strings.Repeat("ä", 300))))
		decision.Denials[i].Policy = fmt.Sprintf("team.policy%d", i)
	}
	f := newFixture(t, says(decision), nil)
	response := f.ask(t, "/validate/fail", podRequest)
	assert.LessOrEqual(t, len(response.Result.Message), maxMessageBytes)
	lines := strings.Split(response.Result.Message, "\n")
	assert.Equal(t, fmt.Sprintf("%d more denials are not shown", 500-len(lines)+1), lines[len(lines)-1])
	assert.LessOrEqual(t, len(response.AuditAnnotations["policies"]), maxAnnotationBytes)
	assert.LessOrEqual(t, f.log.Len(), 256<<10)
	assert.Contains(t, f.log.String(), `"denialsNotShown":400`)
}

// TestLongWarningsOfProductsAreCut as those of policies are.
func TestLongWarningsOfProductsAreCut(t *testing.T) {
	texts := make([]string, 100)
	for i := range texts {
		texts[i] = strings.Repeat("ä", 300)
	}
	cut := limitWarnings(texts)
	total := 0
	for _, text := range cut {
		assert.LessOrEqual(t, len(text), engine.MaxWarningBytes)
		total += len(text)
	}
	assert.LessOrEqual(t, total, engine.MaxResponseWarningBytes)
	assert.Equal(t, fmt.Sprintf("%d more warnings are not shown", len(texts)-len(cut)+1), cut[len(cut)-1])
}

func TestBudgetOfAllBodies(t *testing.T) {
	started, release := make(chan struct{}), make(chan struct{})
	f := newFixture(t, decisions{validate: func(context.Context, *admission.Review, engine.Options) *engine.Decision {
		started <- struct{}{}
		<-release
		return &engine.Decision{}
	}}, func(o *HandlerOptions) { o.MaxReviewBytes, o.MaxBytesInFlight = int64(len(podRequest)), 1 })
	first := make(chan *httptest.ResponseRecorder)
	go func() { first <- f.post("/validate/fail", podRequest) }()
	<-started

	response := f.ask(t, "/validate/ignore?timeout=50ms", podRequest)
	assert.False(t, response.Allowed, "a flood does not open the Ignore entries")
	assert.EqualValues(t, 429, response.Result.Code)
	assert.EqualValues(t, 1, response.Result.Details.RetryAfterSeconds)
	assert.EqualValues(t, "u-1", response.UID)

	close(release)
	assert.True(t, responseOf(t, <-first).Allowed)
}

// TestSmallBodiesTakeWhatTheySay of the budget, and not what a body may have at most.
func TestSmallBodiesTakeWhatTheySay(t *testing.T) {
	started, release := make(chan struct{}), make(chan struct{})
	f := newFixture(t, decisions{validate: func(context.Context, *admission.Review, engine.Options) *engine.Decision {
		started <- struct{}{}
		<-release
		return &engine.Decision{}
	}}, func(o *HandlerOptions) { o.MaxReviewBytes, o.MaxBytesInFlight = 64<<10, 1 })
	answers := make(chan *httptest.ResponseRecorder)
	for range 2 {
		go func() { answers <- f.post("/validate/fail", podRequest) }()
	}
	evaluated := 0
	for range 2 {
		select {
		case <-started:
			evaluated++
		case <-answers: // one that waited for the budget until its deadline
		}
	}
	close(release)
	require.Equal(t, 2, evaluated, "at once")
	for range 2 {
		assert.True(t, responseOf(t, <-answers).Allowed)
	}
}

// TestCapacity: a flood does not open the Ignore entries here either.
func TestCapacity(t *testing.T) {
	f := newFixture(t, decisions{}, nil)
	f.limiter = newReviewLimiter(1)
	leave, err := f.limiter.enter(t.Context(), "")
	require.NoError(t, err)
	response := f.ask(t, "/validate/ignore?timeout=50ms", podRequest)
	assert.False(t, response.Allowed)
	assert.Equal(t, &metav1.Status{
		Status: metav1.StatusFailure, Code: 429, Reason: metav1.StatusReasonTooManyRequests, Message: response.Result.Message,
		Details: &metav1.StatusDetails{RetryAfterSeconds: 1},
	}, response.Result)
	leave()
	assert.True(t, f.ask(t, "/validate/ignore", podRequest).Allowed)
}
