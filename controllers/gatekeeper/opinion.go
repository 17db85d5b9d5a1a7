package gatekeeper

import (
	"context"
	"fmt"
	"slices"

	"github.com/lintel-policy/lintel/api/policy/v1alpha1"
	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/engine"
	"github.com/lintel-policy/lintel/policies/source"
)

// maxSourceBytes is the maximum size of an inline source, below etcd's limit.
const maxSourceBytes = 1400 << 10

// opinionOf returns the reasons why a source with these files cannot be in force: its size, the
// gate, or requirements of its policies that the manager may not read. Each of these applies to
// all files together once they are in the source, so it must be checked before.
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
	verdict, err := r.options.Evaluate(ctx, source.FromPolicySource(object, files, ""))
	switch {
	case err != nil:
		return opinion{unknown: err}
	case verdict.Reason == source.ReasonNoPolicies:
		return opinion{}
	case verdict.Set == nil && len(withFile(verdict.Errors)) > 0:
		return opinion{places: withFile(verdict.Errors)}
	case verdict.Set == nil:
		return opinion{whole: verdict.Message}
	}
	return r.unmet(ctx, verdict.Set)
}

// withFile returns the errors that name their file.
func withFile(errs definition.CompileErrorList) definition.CompileErrorList {
	return slices.DeleteFunc(slices.Clone(errs), func(err definition.CompileError) bool { return err.File == "" })
}

// unmet lists the constraints whose templates read kinds that the manager may not read.
func (r *Reconciler) unmet(ctx context.Context, set *engine.PolicySet) opinion {
	var found opinion
	known := map[admission.GroupVersionKind]string{}
	for _, p := range engine.Describe(set) {
		for _, kind := range p.Requires {
			why, asked := known[kind]
			if !asked {
				var err error
				if why, err = r.options.Readable(ctx, kind); err != nil {
					found.unknown = err
				}
				known[kind] = why
			}
			if why != "" {
				found.places = append(found.places, p.Location.Errorf("%s", why))
			}
		}
	}
	return found
}
