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

// startSpan begins the span of a request, below the caller's if that sends one, as an API
// server does that traces. Without a tracer nothing is made.
func (h *Handler) startSpan(r *http.Request, entry string) (context.Context, trace.Span) {
	if h.tracer == nil {
		return r.Context(), trace.SpanFromContext(r.Context())
	}
	ctx := propagation.TraceContext{}.Extract(r.Context(), propagation.HeaderCarrier(r.Header))
	return h.tracer.Start(ctx, entry, trace.WithSpanKind(trace.SpanKindServer))
}

// describe says in the span what was asked and answered, never what the object holds.
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
