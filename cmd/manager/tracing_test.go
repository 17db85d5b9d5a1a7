package main

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	coltracepb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/protobuf/proto"
)

func environment(pairs map[string]string) func(string) string {
	return func(name string) string { return pairs[name] }
}

func TestTracingEnabled(t *testing.T) {
	for name, c := range map[string]struct {
		env     map[string]string
		enabled bool
		wrong   string
	}{
		"unset":            {},
		"endpoint":         {env: map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://c:4318"}, enabled: true},
		"traces' endpoint": {env: map[string]string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://c:4318/v1/traces"}, enabled: true},
		"exporter":         {env: map[string]string{"OTEL_TRACES_EXPORTER": "otlp"}, enabled: true},
		"exporter none":    {env: map[string]string{"OTEL_TRACES_EXPORTER": "none", "OTEL_EXPORTER_OTLP_ENDPOINT": "http://c:4318"}},
		"SDK disabled":     {env: map[string]string{"OTEL_SDK_DISABLED": "TRUE", "OTEL_EXPORTER_OTLP_ENDPOINT": "http://c:4318"}},
		"unknown exporter": {env: map[string]string{"OTEL_TRACES_EXPORTER": "zipkin"}, wrong: `OTEL_TRACES_EXPORTER: Unsupported value "zipkin": supported values: otlp, none`},
	} {
		t.Run(name, func(t *testing.T) {
			enabled, err := tracingEnabled(environment(c.env))
			assert.Equal(t, c.enabled, enabled)
			if c.wrong == "" {
				assert.NoError(t, err)
			} else {
				assert.EqualError(t, err, c.wrong)
			}
		})
	}
}

// TestMalformedExporterVariables covers the variables that the library alone would log and
// ignore.
func TestMalformedExporterVariables(t *testing.T) {
	empty := filepath.Join(t.TempDir(), "ca.crt")
	require.NoError(t, os.WriteFile(empty, nil, 0o600))
	for name, c := range map[string]struct{ variable, value, wrong string }{
		"endpoint": {"ENDPOINT", "collector:4317", "must be an HTTP or HTTPS URL"},
		"gRPC":     {"PROTOCOL", "grpc", `OTEL_EXPORTER_OTLP_PROTOCOL: Unsupported value "grpc"`},
		"timeout":  {"TIMEOUT", "10s", "parse duration"},
		"headers":  {"HEADERS", "hidden", "parse headers"},
		"escape":   {"HEADERS", "key=hidden%", "escape header value"},
		"no CA":    {"CERTIFICATE", "none.crt", "read tls ca cert file"},
		"empty CA": {"CERTIFICATE", empty, "create tls cert pool"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("OTEL_EXPORTER_OTLP_"+c.variable, c.value)
			_, err := newExporter(t.Context(), os.Getenv)
			require.ErrorContains(t, err, c.wrong)
			assert.NotContains(t, err.Error(), "hidden")
		})
	}
}

func TestExporterSendsWithTheEnvironmentsHeaders(t *testing.T) {
	answers := []int{http.StatusServiceUnavailable, http.StatusOK}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		assert.NoError(t, err)
		var sent coltracepb.ExportTraceServiceRequest
		assert.NoError(t, proto.Unmarshal(body, &sent))
		assert.Equal(t, "sent", sent.ResourceSpans[0].ScopeSpans[0].Spans[0].Name)
		assert.Equal(t, "/v1/traces", r.URL.Path)
		assert.Equal(t, "a b", r.Header.Get("X-Team"))
		w.Header().Set("Retry-After", "0")
		w.WriteHeader(answers[0])
		answers = answers[1:]
	}))
	defer server.Close()
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", server.URL)
	t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "X-Team=a%20b")
	exporter, err := newExporter(t.Context(), os.Getenv)
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	require.NoError(t, exporter.ExportSpans(ctx, tracetest.SpanStubs{{Name: "sent"}}.Snapshots()))
	assert.Empty(t, answers)
	require.NoError(t, exporter.Shutdown(ctx))
}
