package webhooks

import (
	"context"
	"net/http"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/lintel-policy/lintel/policies/admission"
)

// startSpan begins the span of a request, below the caller's span if the request has one, as
// from an API server that traces. Without a tracer, no span is created.
func (h *Handler) startSpan(r *http.Request, entry string) (context.Context, trace.Span) {
	if h.options.Tracer == nil {
		return r.Context(), trace.SpanFromContext(r.Context())
	}
	ctx := propagation.TraceContext{}.Extract(r.Context(), propagation.HeaderCarrier(r.Header))
	return h.options.Tracer.Start(ctx, entry, trace.WithSpanKind(trace.SpanKindServer))
}

// describe records the request and the answer in the span, and never the content of the object.
func describe(span trace.Span, uid string, review *admission.Review, a *answer) {
	if !span.IsRecording() {
		return
	}
	if review != nil {
		span.SetAttributes(
			attribute.String("lintel.uid", uid),
			attribute.String("lintel.operation", review.Operation),
			attribute.String("lintel.kind", review.Kind.String()),
			attribute.String("lintel.subresource", review.SubResource),
			attribute.String("lintel.namespace", review.Namespace),
			attribute.String("lintel.name", review.DisplayName()),
			attribute.Bool("lintel.dry_run", review.DryRun),
		)
	}
	span.SetAttributes(attribute.Bool("lintel.allowed", a.allowed()), attribute.String("lintel.snapshot", a.digest))
	if a.failure != nil {
		span.SetStatus(codes.Error, a.failure.Error())
	}
}
