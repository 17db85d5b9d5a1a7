package webhooks

import (
	"context"
	"slices"

	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/clusterdata"
	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/engine"
	"github.com/lintel-policy/lintel/policies/eval"
	"github.com/lintel-policy/lintel/policies/hierarchy"
)

func (h *Handler) validateBy(policy definition.FailurePolicy) func(context.Context, *admission.Review, string) (*answer, error) {
	return func(ctx context.Context, review *admission.Review, scope string) (*answer, error) {
		decider, options, err := h.prepare(ctx, review, policy, scope)
		if err != nil {
			return nil, err
		}
		if recording := recordingOf(ctx); recording != nil {
			recording.reader, _ = decider.(inputReader)
		}
		decision := decider.Validate(ctx, review, options)
		if err := withoutUnfinished(ctx, decision); err != nil {
			return nil, err
		}
		a := decided(decision, decider.Digest())
		if !a.allowed() && options.Scopes != nil && decider.Tenant(review) != "" {
			a.denialTexts = allDenials(ctx, decider, review, options, a.denialTexts)
		}
		return a, nil
	}
}

// withoutUnfinished removes the errors of policies that the deadline of the request has ended: they
// deny nothing. The error is the reason why the review cannot be decided, if no denial is left.
func withoutUnfinished(ctx context.Context, decision *engine.Decision) error {
	isUnfinished := func(f engine.Finding) bool { return f.Limit == eval.LimitTimeout }
	reason := errOutOfTime
	if err := throttleOf(ctx).err(ctx); err != nil {
		isUnfinished, reason = func(f engine.Finding) bool { return f.Error }, err
	} else if !slices.ContainsFunc(decision.Denials, isUnfinished) {
		return nil
	}
	decision.Denials = slices.DeleteFunc(decision.Denials, isUnfinished)
	if len(decision.Denials) == 0 {
		return reason
	}
	return nil
}

// allDenials is what the policies of all scopes say about a review that is denied, and the
// given texts of the scopes that the entry is for. The entries of several scopes may deny,
// and the API server reports the denial of one.
func allDenials(ctx context.Context, decider Decider, review *admission.Review, options engine.Options, own []string) (texts []string) {
	options.Scopes = nil
	denials := decider.Validate(ctx, review, options).Denials
	if ctx.Err() != nil { // some had no time
		return own
	}
	for _, finding := range denials {
		texts = append(texts, finding.Text())
	}
	for _, text := range own {
		if !slices.Contains(texts, text) {
			texts = append(texts, text)
		}
	}
	return texts
}

func (h *Handler) mutateBy(policy definition.FailurePolicy) func(context.Context, *admission.Review, string) (*answer, error) {
	return func(ctx context.Context, review *admission.Review, scope string) (*answer, error) {
		decider, options, err := h.prepare(ctx, review, policy, scope)
		if err != nil {
			return nil, err
		}
		mutation := decider.Mutate(ctx, review, options)
		if err := throttleOf(ctx).err(ctx); err != nil {
			return nil, err
		}
		if err := withoutUnfinished(ctx, &mutation.Decision); err != nil {
			return nil, err
		}
		a := decided(&mutation.Decision, decider.Digest())
		return a, a.setPatch(mutation.Patch)
	}
}

// prepare gathers the further input of the engine. A namespace that cannot be read is an error:
// otherwise a policy about it would silently not match. scope is the ID of the scope whose
// entry was called, "" for that of the enterprise.
func (h *Handler) prepare(ctx context.Context, review *admission.Review, policy definition.FailurePolicy, scope string) (Decider, engine.Options, error) {
	options := engine.Options{FailurePolicy: policy, Clock: h.now, Own: h.options.Own}
	if paced := throttleOf(ctx); paced != nil {
		options.Pacer = paced
	}
	decider, cluster := h.consistent()
	if decider == nil {
		return nil, options, errNotLoaded
	}
	options.Cluster, options.Scopes = cluster, h.scopesOf(decider, scope)
	recording := recordingOf(ctx)
	if recording != nil {
		options.Cluster = cluster.Observed(&recording.reads)
	}
	if review.Namespace == "" || review.IsNamespace() || !decider.Concerns(review) {
		return decider, options, nil
	}
	text, err := h.options.Namespaces.Namespace(ctx, review.Namespace)
	if err != nil {
		return nil, options, err
	}
	options.Namespace, err = engine.ReadNamespace(text)
	if recording != nil {
		recording.namespace = text
	}
	return decider, options, err
}

// scopesOf selects the scopes whose policies an entry evaluates: the entry of a scope those
// of the scope, which may have been deleted since, and the enterprise's those of all scopes
// that have no entry of their own in force.
func (h *Handler) scopesOf(decider Decider, scope string) func(hierarchy.Key) bool {
	if scope == "" {
		return h.options.Scopes
	}
	key, known := decider.Scope(scope)
	return func(other hierarchy.Key) bool { return known && other == key }
}

// consistent pairs the policies with objects that were current while they were: then
// the kinds that they require are cached, which come before and go after them.
func (h *Handler) consistent() (Decider, *clusterdata.Objects) {
	for {
		decider := h.current()
		if decider == nil || h.options.Cluster == nil {
			return decider, nil
		}
		cluster := h.options.Cluster()
		if h.current() == decider {
			return decider, cluster
		}
	}
}
