package engine

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
)

// startSpan begins the span of a policy whose entry is evaluated, if the span of the review is
// recorded. end ends it, with the errors of the evaluation.
func (p *policy) startSpan(ctx context.Context, entry string) (_ context.Context, end func([]evalError)) {
	parent := trace.SpanFromContext(ctx)
	if !parent.IsRecording() {
		return ctx, func([]evalError) {}
	}
	ctx, span := parent.TracerProvider().Tracer("github.com/lintel-policy/lintel/policies/engine").Start(ctx, "policy", trace.WithAttributes(
		attribute.String("lintel.policy", p.Name), attribute.String("lintel.source", p.source.Name), attribute.String("lintel.entry", entry),
	))
	return ctx, func(errs []evalError) {
		if len(errs) > 0 {
			span.SetStatus(codes.Error, errs[0].message)
		}
		span.End()
	}
}
