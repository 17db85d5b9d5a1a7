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
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
	"k8s.io/apimachinery/pkg/util/wait"
)

func environment(pairs map[string]string) func(string) string {
	return func(name string) string { return pairs[name] }
}

func TestTracingWanted(t *testing.T) {
	for name, c := range map[string]struct {
		env   map[string]string
		on    bool
		wrong string
	}{
		"nothing said":   {},
		"an endpoint":    {env: map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://c:4318"}, on: true},
		"of traces":      {env: map[string]string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://c:4318/v1/traces"}, on: true},
		"asked for":      {env: map[string]string{"OTEL_TRACES_EXPORTER": "otlp"}, on: true},
		"switched off":   {env: map[string]string{"OTEL_TRACES_EXPORTER": "none", "OTEL_EXPORTER_OTLP_ENDPOINT": "http://c:4318"}},
		"all of it off":  {env: map[string]string{"OTEL_SDK_DISABLED": "true", "OTEL_EXPORTER_OTLP_ENDPOINT": "http://c:4318"}},
		"other exporter": {env: map[string]string{"OTEL_TRACES_EXPORTER": "zipkin"}, wrong: `OTEL_TRACES_EXPORTER is "zipkin": traces are sent as otlp, or not at all with none`},
	} {
		t.Run(name, func(t *testing.T) {
			on, err := tracingWanted(environment(c.env))
			assert.Equal(t, c.on, on)
			if c.wrong == "" {
				assert.NoError(t, err)
			} else {
				assert.EqualError(t, err, c.wrong)
			}
		})
	}
}

func TestOTLPClientReadsTheEnvironment(t *testing.T) {
	empty := filepath.Join(t.TempDir(), "ca.crt")
	require.NoError(t, os.WriteFile(empty, nil, 0o600))
	for name, c := range map[string]struct {
		env             map[string]string
		endpoint, wrong string
	}{
		"nothing":        {endpoint: "http://localhost:4318/v1/traces"},
		"all signals":    {env: map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "https://c:4318/"}, endpoint: "https://c:4318/v1/traces"},
		"traces' own":    {env: map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://a", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://b/x"}, endpoint: "http://b/x"},
		"no URL":         {env: map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "collector:4317"}, wrong: `leads to "collector:4317/v1/traces", which is no URL such as http://collector:4318`},
		"gRPC":           {env: map[string]string{"OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}, wrong: `OTEL_EXPORTER_OTLP_PROTOCOL is "grpc": traces are sent with http/protobuf alone`},
		"gzip":           {env: map[string]string{"OTEL_EXPORTER_OTLP_TRACES_COMPRESSION": "gzip"}, wrong: `is "gzip"`},
		"timeout":        {env: map[string]string{"OTEL_EXPORTER_OTLP_TIMEOUT": "10s"}, wrong: `OTEL_EXPORTER_OTLP_TIMEOUT is "10s", which is no number of milliseconds`},
		"headers":        {env: map[string]string{"OTEL_EXPORTER_OTLP_HEADERS": "hidden"}, wrong: "OTEL_EXPORTER_OTLP_HEADERS is no list of name=value"},
		"no CA":          {env: map[string]string{"OTEL_EXPORTER_OTLP_CERTIFICATE": "none.crt"}, wrong: "reading OTEL_EXPORTER_OTLP_CERTIFICATE"},
		"empty CA":       {env: map[string]string{"OTEL_EXPORTER_OTLP_CERTIFICATE": empty}, wrong: "holds no certificate"},
		"half of a pair": {env: map[string]string{"OTEL_EXPORTER_OTLP_CLIENT_KEY": empty}, wrong: "OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE"},
	} {
		t.Run(name, func(t *testing.T) {
			client, err := newOTLPClient(environment(c.env))
			if c.wrong != "" {
				require.ErrorContains(t, err, c.wrong)
				assert.NotContains(t, err.Error(), "hidden")
				return
			}
			require.NoError(t, err)
			assert.Equal(t, c.endpoint, client.endpoint)
		})
	}
}

func TestOTLPClientSends(t *testing.T) {
	spans := []*tracepb.ResourceSpans{{SchemaUrl: "sent"}}
	for name, c := range map[string]struct {
		answers []int
		tries   int
		wrong   string
	}{
		"at once":                     {answers: []int{200}, tries: 1},
		"again while there's no room": {answers: []int{503, 429, 200}, tries: 3},
		"not again what is refused":   {answers: []int{400, 200}, tries: 1, wrong: "400 Bad Request: no"},
		"not forever":                 {answers: []int{503, 503, 503, 503, 503, 503}, tries: 5, wrong: "503 Service Unavailable: no"},
	} {
		t.Run(name, func(t *testing.T) {
			tries := 0
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, err := io.ReadAll(r.Body)
				assert.NoError(t, err)
				var sent tracepb.TracesData
				assert.NoError(t, proto.Unmarshal(body, &sent))
				assert.Equal(t, "sent", sent.ResourceSpans[0].SchemaUrl)
				assert.Equal(t, "/v1/traces", r.URL.Path)
				assert.Equal(t, "application/x-protobuf", r.Header.Get("Content-Type"))
				assert.Equal(t, "a b", r.Header.Get("X-Team"))
				w.WriteHeader(c.answers[tries])
				tries++
				_, _ = io.WriteString(w, "no\n")
			}))
			defer server.Close()
			client, err := newOTLPClient(environment(map[string]string{
				"OTEL_EXPORTER_OTLP_ENDPOINT": server.URL, "OTEL_EXPORTER_OTLP_HEADERS": "X-Team=a%20b,",
			}))
			require.NoError(t, err)
			client.retry = wait.Backoff{Duration: time.Millisecond, Steps: 5}
			err = client.UploadTraces(context.Background(), spans)
			if c.wrong == "" {
				assert.NoError(t, err)
			} else {
				assert.ErrorContains(t, err, c.wrong)
			}
			assert.Equal(t, c.tries, tries)
			assert.NoError(t, client.Stop(context.Background()))
		})
	}
}
