package main

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
	"k8s.io/apimachinery/pkg/util/wait"
)

// otlpClient sends spans as OTLP over HTTP does, to where the OTEL_EXPORTER_OTLP_
// variables of OpenTelemetry's specification say. OpenTelemetry's own client links gRPC,
// which takes a quarter more memory in every replica, traced or not.
type otlpClient struct {
	endpoint string
	headers  http.Header
	http     http.Client
	retry    wait.Backoff
}

// newOTLPClient reads the environment. The error names the variable that is wrong.
func newOTLPClient(getenv func(string) string) (*otlpClient, error) {
	setting := func(name string) string {
		return cmp.Or(getenv("OTEL_EXPORTER_OTLP_TRACES_"+name), getenv("OTEL_EXPORTER_OTLP_"+name))
	}
	for name, only := range map[string]string{"PROTOCOL": "http/protobuf", "COMPRESSION": "none"} {
		if value := setting(name); value != "" && value != only {
			return nil, fmt.Errorf("OTEL_EXPORTER_OTLP_%s is %q: traces are sent with %s alone", name, value, only)
		}
	}
	general := strings.TrimSuffix(cmp.Or(getenv("OTEL_EXPORTER_OTLP_ENDPOINT"), "http://localhost:4318"), "/")
	endpoint := cmp.Or(getenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"), general+"/v1/traces")
	if parsed, err := url.Parse(endpoint); err != nil || parsed.Host == "" || parsed.Scheme != "http" && parsed.Scheme != "https" {
		return nil, fmt.Errorf("OTEL_EXPORTER_OTLP_ENDPOINT leads to %q, which is no URL such as http://collector:4318", endpoint)
	}
	timeout, err := strconv.Atoi(cmp.Or(setting("TIMEOUT"), "10000"))
	if err != nil || timeout <= 0 {
		return nil, fmt.Errorf("OTEL_EXPORTER_OTLP_TIMEOUT is %q, which is no number of milliseconds", setting("TIMEOUT"))
	}
	headers, err := otlpHeaders(setting("HEADERS"))
	if err != nil {
		return nil, err
	}
	config, err := otlpTLS(setting("CERTIFICATE"), setting("CLIENT_CERTIFICATE"), setting("CLIENT_KEY"))
	if err != nil {
		return nil, err
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.TLSClientConfig = config
	return &otlpClient{
		endpoint: endpoint, headers: headers,
		http:  http.Client{Transport: transport, Timeout: time.Duration(timeout) * time.Millisecond},
		retry: wait.Backoff{Duration: time.Second, Factor: 2, Jitter: 0.5, Steps: 5},
	}, nil
}

// otlpHeaders are pairs such as api-key=1,team=a%20b.
func otlpHeaders(text string) (http.Header, error) {
	headers := http.Header{"Content-Type": {"application/x-protobuf"}}
	for pair := range strings.SplitSeq(text, ",") {
		name, escaped, found := strings.Cut(pair, "=")
		value, err := url.PathUnescape(strings.TrimSpace(escaped))
		switch name = strings.TrimSpace(name); {
		case name == "" && !found:
		case name == "" || !found || err != nil:
			return nil, errors.New("OTEL_EXPORTER_OTLP_HEADERS is no list of name=value, with commas between them") // never the value: it is a secret
		default:
			headers.Set(name, value)
		}
	}
	return headers, nil
}

// otlpTLS believes the authorities of a file, those of the system without one, and shows
// the certificate of a pair of files, if any.
func otlpTLS(authorities, certificate, key string) (*tls.Config, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if authorities != "" {
		text, err := os.ReadFile(authorities)
		if err != nil {
			return nil, fmt.Errorf("reading OTEL_EXPORTER_OTLP_CERTIFICATE: %w", err)
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(text) {
			return nil, fmt.Errorf("reading OTEL_EXPORTER_OTLP_CERTIFICATE: %s holds no certificate", authorities)
		}
	}
	if certificate+key != "" {
		pair, err := tls.LoadX509KeyPair(certificate, key)
		if err != nil {
			return nil, fmt.Errorf("reading OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE and OTEL_EXPORTER_OTLP_CLIENT_KEY: %w", err)
		}
		config.Certificates = []tls.Certificate{pair}
	}
	return config, nil
}

// Start implements otlptrace.Client: connections are made when there is something to send.
func (c *otlpClient) Start(context.Context) error { return nil }

// Stop implements otlptrace.Client.
func (c *otlpClient) Stop(context.Context) error {
	c.http.CloseIdleConnections()
	return nil
}

// UploadTraces implements otlptrace.Client. A TracesData is, on the wire, the request that
// collectors take. What a collector has no room for is sent again some times.
func (c *otlpClient) UploadTraces(ctx context.Context, spans []*tracepb.ResourceSpans) error {
	body, err := proto.Marshal(&tracepb.TracesData{ResourceSpans: spans})
	if err != nil {
		return fmt.Errorf("encoding spans: %w", err)
	}
	var last error
	err = wait.ExponentialBackoffWithContext(ctx, c.retry, func(ctx context.Context) (done bool, err error) {
		again, err := c.send(ctx, body)
		if last = err; again {
			return false, nil
		}
		return true, err
	})
	return cmp.Or(last, err)
}

// send says whether to try again what has failed.
func (c *otlpClient) send(ctx context.Context, body []byte) (again bool, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.endpoint, bytes.NewReader(body))
	if err != nil {
		return false, err
	}
	request.Header = c.headers
	response, err := c.http.Do(request)
	if err != nil {
		return true, fmt.Errorf("sending spans: %w", err)
	}
	defer response.Body.Close()
	if response.StatusCode/100 == 2 {
		return false, nil
	}
	text, _ := io.ReadAll(io.LimitReader(response.Body, 1<<10))
	err = fmt.Errorf("sending spans to %s: %s: %s", c.endpoint, response.Status, bytes.ToValidUTF8(bytes.TrimSpace(text), nil))
	switch response.StatusCode {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true, err
	default:
		return false, err
	}
}
