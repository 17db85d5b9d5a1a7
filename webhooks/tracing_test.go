package webhooks

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/lintel-policy/lintel/policies/definition"
)

// TestTracing follows a review that an API server traces down to the policies, for each of
// their answers.
func TestTracing(t *testing.T) {
	snapshot := compiled(t, definition.Fail, teamLabel+"\nwarn contains sprintf(\"%v\", [to_number(\"x\")])\n")
	recorder := tracetest.NewSpanRecorder()
	f := newFixture(t, snapshot, func(o *HandlerOptions) {
		o.Tracer = trace.NewTracerProvider(trace.WithSpanProcessor(recorder)).Tracer("test")
	})
	body := strings.NewReplacer(`"pods"`, `"configmaps"`, `"kind":"Pod"`, `"kind":"ConfigMap"`).Replace(podRequest)
	request := httptest.NewRequest(http.MethodPost, "/validate/fail?timeout=30s", strings.NewReader(body))
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
	f.ServeHTTP(httptest.NewRecorder(), request)

	spans := recorder.Ended()
	require.Len(t, spans, 2)
	policy, review := spans[0], spans[1]
	assert.Equal(t, "validate/fail.policies.lintel.dev", review.Name())
	assert.Equal(t, "0af7651916cd43dd8448eb211c80319c", review.SpanContext().TraceID().String())
	assert.Equal(t, "b7ad6b7169203331", review.Parent().SpanID().String())
	said := map[string]string{}
	for _, attribute := range append(review.Attributes(), policy.Attributes()...) {
		said[string(attribute.Key)] = attribute.Value.String()
	}
	assert.Equal(t, "CREATE", said["lintel.operation"])
	assert.Equal(t, "false", said["lintel.allowed"])
	assert.Equal(t, snapshot.Digest(), said["lintel.snapshot"])
	assert.Equal(t, "policy", policy.Name())
	assert.Equal(t, review.SpanContext().SpanID(), policy.Parent().SpanID())
	assert.Equal(t, "team.labels", said["lintel.policy"])
	assert.Equal(t, codes.Unset, review.Status().Code, "a denial is no error")
	assert.Equal(t, codes.Error, policy.Status().Code, "a function that fails is one")
	assert.Contains(t, f.log.String(), `"trace":"0af7651916cd43dd8448eb211c80319c"`)

	// One that cannot be read is an error of the span, too.
	request = httptest.NewRequest(http.MethodPost, "/validate/fail", strings.NewReader("{"))
	request.Header.Set("Content-Type", "application/json")
	f.ServeHTTP(httptest.NewRecorder(), request)
	spans = recorder.Ended()
	assert.Equal(t, codes.Error, spans[len(spans)-1].Status().Code)
}
