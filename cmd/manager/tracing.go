package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/sdk/resource"
	"go.opentelemetry.io/otel/sdk/trace"
)

// tracingEnd is how long the last spans may take to be sent.
const tracingEnd = 5 * time.Second

// tracingWanted says whether the environment asks for traces, by the variables that
// OpenTelemetry's specification gives every program. The error is one that asks for what
// is not here.
func tracingWanted(getenv func(string) string) (bool, error) {
	if getenv("OTEL_SDK_DISABLED") == "true" {
		return false, nil
	}
	endpoint := getenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") + getenv("OTEL_EXPORTER_OTLP_ENDPOINT")
	switch exporter := getenv("OTEL_TRACES_EXPORTER"); exporter {
	case "none":
		return false, nil
	case "":
		if endpoint == "" {
			return false, nil
		}
	case "otlp":
	default:
		return false, fmt.Errorf("OTEL_TRACES_EXPORTER is %q: traces are sent as otlp, or not at all with none", exporter)
	}
	return true, nil
}

// startTracing has spans sent as the environment says. Without a word there, no span is
// ever made. stop sends what is left.
func startTracing(ctx context.Context, getenv func(string) string, instance string, logger *slog.Logger) (on bool, stop func(), err error) {
	on, err = tracingWanted(getenv)
	if err != nil || !on {
		return false, func() {}, err
	}
	uploading, err := newOTLPClient(getenv)
	if err != nil {
		return false, nil, err
	}
	exporter, err := otlptrace.New(ctx, uploading)
	if err != nil {
		return false, nil, fmt.Errorf("preparing to send traces: %w", err)
	}
	// What the environment says of the service comes last, and wins.
	described, err := resource.New(ctx, resource.WithTelemetrySDK(), resource.WithAttributes(
		attribute.String("service.name", "lintel"), attribute.String("service.instance.id", instance),
	), resource.WithFromEnv())
	if err != nil {
		return false, nil, errors.Join(fmt.Errorf("reading OTEL_RESOURCE_ATTRIBUTES: %w", err), exporter.Shutdown(ctx))
	}
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { logger.Warn("traces are not sent as they should", "error", err) }))
	provider := trace.NewTracerProvider(trace.WithBatcher(exporter), trace.WithResource(described))
	otel.SetTracerProvider(provider)
	return true, func() {
		ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), tracingEnd)
		defer cancel()
		if err := provider.Shutdown(ending); err != nil {
			logger.Warn("the last traces are not sent", "error", err)
		}
	}, nil
}
