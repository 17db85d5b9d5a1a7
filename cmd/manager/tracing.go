package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	"go.opentelemetry.io/otel/sdk/trace"
)

// tracingShutdownTimeout bounds the export of the last spans.
const tracingShutdownTimeout = 5 * time.Second

// tracingEnabled reports whether the environment enables traces, by the variables of
// OpenTelemetry's specification. The error names a setting that is not supported.
func tracingEnabled(getenv func(string) string) (bool, error) {
	if strings.EqualFold(getenv("OTEL_SDK_DISABLED"), "true") {
		return false, nil
	}
	switch exporter := getenv("OTEL_TRACES_EXPORTER"); exporter {
	case "none":
		return false, nil
	case "":
		return otlpEndpoint(getenv) != "", nil
	case "otlp":
		return true, nil
	default:
		return false, fmt.Errorf("OTEL_TRACES_EXPORTER: Unsupported value %q: supported values: otlp, none", exporter)
	}
}

// otlpEndpoint is the configured endpoint of the collector, empty without one.
func otlpEndpoint(getenv func(string) string) string {
	return cmp.Or(getenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"), getenv("OTEL_EXPORTER_OTLP_ENDPOINT"))
}

// newExporter configures the exporter from the process's environment. The library logs
// a malformed variable and continues with a default; here it is an error, whose text
// never has a value: headers are secrets.
func newExporter(ctx context.Context, getenv func(string) string) (*otlptrace.Exporter, error) {
	protocol := cmp.Or(getenv("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL"), getenv("OTEL_EXPORTER_OTLP_PROTOCOL"), "http/protobuf")
	if protocol != "http/protobuf" {
		return nil, fmt.Errorf("OTEL_EXPORTER_OTLP_PROTOCOL: Unsupported value %q: supported values: http/protobuf", protocol)
	}
	var options []otlptracehttp.Option
	if endpoint := otlpEndpoint(getenv); endpoint == "" {
		options = append(options, otlptracehttp.WithEndpointURL("http://localhost:4318/v1/traces"))
	} else if parsed, err := url.Parse(endpoint); err != nil || parsed.Host == "" || parsed.Scheme != "http" && parsed.Scheme != "https" {
		return nil, errors.New("OTEL_EXPORTER_OTLP_ENDPOINT: Invalid value: must be an HTTP or HTTPS URL such as http://collector:4318")
	}
	var malformed []error
	otel.SetLogger(funcr.New(func(_, text string) { malformed = append(malformed, errors.New(text)) }, funcr.Options{
		RenderArgsHook: func([]any) []any { return nil },
	}))
	exporter, err := otlptracehttp.New(ctx, options...)
	if err = errors.Join(append(malformed, err)...); err != nil {
		return nil, fmt.Errorf("reading the OTEL_EXPORTER_OTLP_ variables: %w", err)
	}
	return exporter, nil
}

// startTracing exports spans as the environment configures. Without a setting there, no
// span is created. stop exports the remaining spans.
func startTracing(ctx context.Context, getenv func(string) string, instance string, logger *slog.Logger) (on bool, stop func(), err error) {
	on, err = tracingEnabled(getenv)
	if err != nil || !on {
		return false, func() {}, err
	}
	exporter, err := newExporter(ctx, getenv)
	if err != nil {
		return false, nil, err
	}
	otel.SetLogger(logr.FromSlogHandler(logger.Handler()))
	// Attributes of the environment come last and override.
	described, err := resource.New(ctx, resource.WithTelemetrySDK(), resource.WithAttributes(
		attribute.String("service.name", "lintel"), attribute.String("service.instance.id", instance),
	), resource.WithFromEnv())
	if err != nil {
		return false, nil, errors.Join(fmt.Errorf("reading OTEL_RESOURCE_ATTRIBUTES: %w", err), exporter.Shutdown(ctx))
	}
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { logger.Warn("exporting traces failed", "error", err) }))
	provider := trace.NewTracerProvider(trace.WithBatcher(exporter), trace.WithResource(described))
	otel.SetTracerProvider(provider)
	return true, func() {
		ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), tracingShutdownTimeout)
		defer cancel()
		if err := provider.Shutdown(ending); err != nil {
			logger.Warn("exporting the last traces failed", "error", err)
		}
	}, nil
}
