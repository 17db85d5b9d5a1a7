package e2e

import (
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	coltracepb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/protobuf/proto"
)

// traces takes what the manager of all tests sends, which is traced throughout.
var traces = startCollector()

// collector keeps spans, as a collector of OpenTelemetry takes them over HTTP.
type collector struct {
	*httptest.Server
	mu    sync.Mutex
	spans []tracedSpan
}

// tracedSpan is what the tests look at.
type tracedSpan struct {
	name, id, parent, trace string
	attributes              map[string]string
}

// coreEnv makes the manager send its traces, without a long delay.
func coreEnv() []string {
	return []string{"OTEL_EXPORTER_OTLP_ENDPOINT=" + traces.URL, "OTEL_BSP_SCHEDULE_DELAY=500"}
}

// startCollector serves until the process ends.
func startCollector() *collector {
	c := &collector{}
	c.Server = httptest.NewServer(c)
	return c
}

// ServeHTTP takes an ExportTraceServiceRequest.
func (c *collector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	var request coltracepb.ExportTraceServiceRequest
	if err == nil {
		err = proto.Unmarshal(body, &request)
	}
	if err != nil || r.URL.Path != "/v1/traces" {
		http.Error(w, "not a request with traces", http.StatusBadRequest)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, resource := range request.ResourceSpans {
		for _, scope := range resource.ScopeSpans {
			for _, span := range scope.Spans {
				one := tracedSpan{
					name: span.Name, id: hex.EncodeToString(span.SpanId), parent: hex.EncodeToString(span.ParentSpanId),
					trace: hex.EncodeToString(span.TraceId), attributes: map[string]string{},
				}
				for _, attribute := range span.Attributes {
					one.attributes[attribute.Key] = attribute.Value.GetStringValue()
				}
				c.spans = append(c.spans, one)
			}
		}
	}
}

// with are the spans of a name whose attribute has a value.
func (c *collector) with(name, key, value string) (found []tracedSpan) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, span := range c.spans {
		if span.name == name && span.attributes[key] == value {
			found = append(found, span)
		}
	}
	return found
}

// TestTraces follows a push and a review through the spans that the manager sends.
func TestTraces(t *testing.T) {
	t.Parallel()
	const source = "traced"
	namespace := newNamespace(t)
	applySource(t, source, inNamespace(namespace, configMapKind, `package traced
deny contains "no" if input.name == "no"`), nil)
	mustKubectl(t, "", "-n", namespace, "create", "configmap", "yes")
	require.EventuallyWithT(t, func(t *assert.CollectT) {
		for _, step := range []string{"reconcile PolicySource", "gate", "store", "load"} {
			assert.NotEmpty(t, traces.with(step, "lintel.object", source), step)
		}
		gates := traces.with("gate", "lintel.object", source)
		reviews := traces.with("validate/fail.policies.lintel.dev", "lintel.namespace", namespace)
		if !assert.NotEmpty(t, gates) || !assert.NotEmpty(t, reviews) {
			return
		}
		assert.NotEmpty(t, gates[0].parent, "the gate is asked within a reconcile")
		asked := traces.with("policy", "lintel.policy", "traced")
		if assert.NotEmpty(t, asked) {
			// Policies of other tests are evaluated for objects of this namespace, too.
			within := func(review tracedSpan) bool { return review.id == asked[0].parent && review.trace == asked[0].trace }
			assert.True(t, slices.ContainsFunc(reviews, within), "the policy is evaluated within a review")
		}
	}, 30*time.Second, 200*time.Millisecond)
}
