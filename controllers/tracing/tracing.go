// Package tracing makes the spans of controllers.
//
// Invariant: a span names steps and objects, and contains no content of an object except what
// an error quotes.
package tracing

import (
	"context"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
)

// Step begins the span of a step that is done for the object of a name. end ends it, with
// the error that the step has, if any.
func Step(ctx context.Context, step, name string) (_ context.Context, end func(error)) {
	ctx, span := otel.Tracer("github.com/lintel-policy/lintel/controllers").Start(ctx, step)
	span.SetAttributes(attribute.String("lintel.object", name))
	return ctx, func(err error) {
		if err != nil {
			span.SetStatus(codes.Error, err.Error())
		}
		span.End()
	}
}
