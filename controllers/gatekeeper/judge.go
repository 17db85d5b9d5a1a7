package gatekeeper

import (
	"context"
	"errors"
	"fmt"

	"github.com/lintel-policy/lintel/api/policy/v1alpha1"
	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/engine"
	"github.com/lintel-policy/lintel/policies/source"
)

// maxSourceBytes is what an inline source holds, with room below etcd's limit.
const maxSourceBytes = 1400 << 10

// opinionOf asks what would keep a source with these files from being in force: its size,
// the gate, or what its policies require and may not be read. Every one of these is
// about all of them together once they are in the source, so it must be known before.
func (r *Reconciler) opinionOf(ctx context.Context, existing *v1alpha1.PolicySource, files map[string]string) opinion {
	size := 0
	for name, text := range files {
		size += len(name) + len(text)
	}
	if size > maxSourceBytes {
		return opinion{whole: fmt.Sprintf("there is no room for it: the PolicySource %s holds %d bytes at most; move templates with their constraints into a PolicySource of their own", sourceName, maxSourceBytes)}
	}
	object := existing.DeepCopy()
	object.Name = sourceName
	verdict, err := r.options.Judge(ctx, source.FromPolicySource(object, files, ""))
	switch {
	case err != nil:
		return opinion{unknown: err}
	case verdict.Reason == source.ReasonNoPolicies:
		return opinion{}
	case verdict.Set == nil && len(placed(verdict.Errors)) > 0:
		return opinion{places: placed(verdict.Errors)}
	case verdict.Set == nil:
		return opinion{whole: verdict.Message}
	}
	return r.unmet(ctx, verdict.Set)
}

// placed are the errors that name their file.
func placed(errs definition.CompileErrors) definition.CompileErrors {
	var out definition.CompileErrors
	for _, err := range errs {
		if err.File != "" {
			out = append(out, err)
		}
	}
	return out
}

// unmet names the constraints whose templates read what may not be read.
func (r *Reconciler) unmet(ctx context.Context, set *engine.PolicySet) opinion {
	var found opinion
	known := map[admission.GroupVersionKind]error{}
	for _, p := range set.Describe() {
		for _, kind := range p.Requires {
			if _, asked := known[kind]; !asked {
				known[kind] = r.options.Readable(ctx, kind)
			}
			var refused *Unreadable
			switch err := known[kind]; {
			case err == nil:
			case errors.As(err, &refused):
				found.places = append(found.places, definition.CompileError{File: p.Location.File, Line: p.Location.Line, Message: refused.Message})
			default:
				found.unknown = err
			}
		}
	}
	return found
}

// Unreadable is why Lintel cannot read a kind, and how to permit it.
type Unreadable struct{ Message string }

// Error implements error.
func (u *Unreadable) Error() string { return u.Message }
