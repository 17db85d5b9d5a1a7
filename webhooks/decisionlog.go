package webhooks

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/engine"
)

// LogMode says which decisions are logged.
type LogMode string

const (
	// LogDenied logs reviews that were denied or could not be evaluated, and those with findings
	// that are recorded nowhere else: of policies with `enforcement: audit`, and of denials that
	// a PolicyException exempts.
	LogDenied LogMode = "denied"
	// LogAll logs every request.
	LogAll LogMode = "all"
	// LogNone logs none.
	LogNone LogMode = "none"
)

const (
	maxLoggedFindings = 100
	maxLoggedWords    = engine.MaxWordsBytes
)

// ParseLogMode reads a mode; empty is LogDenied.
func ParseLogMode(text string) (LogMode, error) {
	switch mode := cmp.Or(LogMode(text), LogDenied); mode {
	case LogDenied, LogAll, LogNone:
		return mode, nil
	default:
		return "", fmt.Errorf("decision log mode %q is not denied, all or none", text)
	}
}

// DecisionLog writes one structured line a request. A line holds the findings
// of policies, of the user the name alone, and the object only with Objects.
type DecisionLog struct {
	Logger *slog.Logger
	Mode   LogMode
	// Sample picks the lines of LogAll that are written, and ExcludeKinds (Kind, or
	// Kind.group) those that are not. Denials, errors and audit findings always are.
	Sample       func() bool
	ExcludeKinds []string
	// Objects adds the object to each line, without what Mask and the nature of
	// Secrets hide.
	Objects bool
	Mask    Mask
}

// Sampler picks a share of calls, from 0 to 1, at random.
func Sampler(share float64) (func() bool, error) {
	if !(share >= 0 && share <= 1) {
		return nil, fmt.Errorf("a sample of %v is not between 0 and 1", share)
	}
	return func() bool { return share == 1 || rand.Float64() < share }, nil
}

// loggedFinding is a Finding in the log.
type loggedFinding struct {
	Policy   string `json:"policy"`
	Rule     string `json:"rule,omitempty"`
	Location string `json:"location,omitempty"`
	Source   string `json:"source,omitempty"`
	Revision string `json:"revision,omitempty"`
	Code     int    `json:"code,omitempty"`
	Field    string `json:"field,omitempty"`
	Limit    string `json:"limit,omitempty"`
	Error    bool   `json:"error,omitempty"`
	// Exception and Until are set for findings that a PolicyException covers.
	Exception string `json:"exception,omitempty"`
	Until     string `json:"until,omitempty"`
	Msg       string `json:"msg"`
	// Details are JSON in a string, because indexes of logs expect one type for a key.
	Details string `json:"details,omitempty"`
}

func (l DecisionLog) wants(review *admission.Review, a *answer) bool {
	switch {
	case l.Mode == LogNone:
		return false
	case !a.allowed() || a.failure != nil || len(a.audits) > 0 || len(a.exempted) > 0:
		return true
	case l.Mode != LogAll:
		return false
	case review != nil && slices.Contains(l.ExcludeKinds, review.Kind.String()):
		return false
	default:
		return l.Sample == nil || l.Sample()
	}
}

// write logs the decision; review is nil where it could not be read.
func (l DecisionLog) write(ctx context.Context, entry, uid string, review *admission.Review, a *answer, took time.Duration) {
	if l.Logger == nil || !l.wants(review, a) {
		return
	}
	attrs := []slog.Attr{slog.String("uid", truncate(uid, maxLoggedWords)), slog.String("entry", entry)}
	if review != nil {
		attrs = append(attrs,
			slog.String("operation", review.Operation),
			slog.String("kind", review.Kind.String()),
			slog.String("resource", review.Resource.Resource),
			slog.String("subresource", review.SubResource),
			slog.String("namespace", review.Namespace),
			slog.String("name", review.DisplayName()),
			slog.String("user", review.Username),
			slog.Bool("dryRun", review.DryRun),
		)
	}
	attrs = append(attrs,
		slog.Bool("allowed", a.allowed()),
		slog.Int("policies", a.policies),
		slog.Int("patch", a.operations),
		slog.Float64("durationMs", float64(took.Microseconds())/1000),
		slog.String("snapshot", a.digest),
	)
	if l.Objects && review != nil {
		if object, err := l.Mask.object(review); err == nil && object != nil {
			attrs = append(attrs, slog.Any("object", object))
		}
	}
	if span := trace.SpanContextFromContext(ctx); span.IsSampled() {
		attrs = append(attrs, slog.String("trace", span.TraceID().String()))
	}
	if a.failure != nil {
		attrs = append(attrs, slog.String("error", truncate(a.failure.Error(), maxLoggedWords)))
	}
	for _, part := range []struct {
		key      string
		findings []engine.Finding
	}{{"denials", a.denials}, {"warnings", a.warnings}, {"audits", a.audits}, {"exempted", a.exempted}} {
		if len(part.findings) > 0 {
			attrs = append(attrs, slog.Any(part.key, l.loggedFindings(part.findings, review)))
		}
		if more := len(part.findings) - maxLoggedFindings; more > 0 {
			attrs = append(attrs, slog.Int(part.key+"NotShown", more))
		}
	}
	l.Logger.LogAttrs(ctx, slog.LevelInfo, "decision", attrs...)
}

func (l DecisionLog) loggedFindings(findings []engine.Finding, review *admission.Review) []loggedFinding {
	hide := l.Mask.details(review)
	out := make([]loggedFinding, 0, min(len(findings), maxLoggedFindings))
	for _, f := range findings[:min(len(findings), maxLoggedFindings)] {
		logged := loggedFinding{
			Policy: f.Policy, Rule: f.Rule, Source: f.Source, Revision: f.Revision,
			Code: f.Code, Field: truncate(f.Field, maxLoggedWords),
			Limit: f.Limit, Error: f.Error, Msg: truncate(f.Words, maxLoggedWords),
		}
		if f.Details != nil {
			logged.Details = truncate(hide(f.Details), maxLoggedWords)
		}
		if f.Location != (definition.Location{}) {
			logged.Location = f.Location.String()
		}
		if f.Exception != "" {
			logged.Exception, logged.Until = f.Exception, f.Expires.UTC().Format(time.RFC3339)
		}
		out = append(out, logged)
	}
	return out
}
