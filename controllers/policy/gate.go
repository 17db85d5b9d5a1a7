package policy

import (
	"context"
	"errors"
	"fmt"

	"github.com/lintel-policy/lintel/api/policy/v1alpha1"
	"github.com/lintel-policy/lintel/policies/engine"
	"github.com/lintel-policy/lintel/policies/source"
)

// The reasons of conditions.
const (
	ReasonCompiled            = "Compiled"
	ReasonCompileFailed       = "CompileFailed"
	ReasonVersionConflict     = "VersionConflict"
	ReasonOriginNotServed     = "OriginNotServed"
	ReasonScopeNotServed      = "ScopeNotServed"
	ReasonRequiresForbidden   = "RequiresForbidden"
	ReasonRequiresUnknownKind = "RequiresUnknownKind"
	ReasonNoPolicies          = "NoPolicies"
	ReasonLimitReached        = "LimitReached"
	ReasonWithinLimits        = "WithinLimits"
	ReasonEnterprise          = "Enterprise"
	ReasonServing             = "Serving"
	ReasonProgressing         = "Progressing"
	ReasonArtifactFailed      = "ArtifactFailed"
)

// Verdict is what the gate says of a revision.
type Verdict struct {
	// Set is the compiled revision: nil where it is refused.
	Set *engine.PolicySet
	// Reason and Message say why it is refused.
	Reason, Message string
	// Errors are the places, where there are any.
	Errors engine.CompileErrors
	// Warnings say what is likely not meant.
	Warnings []string
}

// Checks are the parts of the gate that come from elsewhere.
type Checks struct {
	// Compile compiles a source within limits. An error that is no
	// engine.CompileErrors says nothing about the source.
	Compile func(context.Context, engine.Source) (*engine.PolicySet, error)
	// Registrable says whether the policies of a snapshot can be registered together.
	Registrable func(policies []engine.PolicyInfo, resources *engine.Resources) error
}

// Gate judges the revision in a PolicySource, before it goes live beside the other
// sources; Lintel's webhook asks it, too. It does not ask whether the kinds that
// policies require may be read: the permission may come after the source. An error
// means that it found no verdict.
func Gate(ctx context.Context, object *v1alpha1.PolicySource, live *engine.Live, checks Checks) (Verdict, error) {
	if object.Spec.Inline == nil {
		return Verdict{Reason: ReasonOriginNotServed, Message: "only inline origins are served by this version; put the files under spec.inline.files"}, nil
	}
	if level := object.Spec.Scope.Level; level != "" && level != v1alpha1.ScopeLevelEnterprise {
		return Verdict{Reason: ReasonScopeNotServed, Message: fmt.Sprintf("scope level %s is not served by this version; use enterprise", level)}, nil
	}
	candidate := source.FromPolicySource(object, object.Spec.Inline.Files, "")
	if set, ok := live.Get(object.Name); ok && set.CompiledFrom(candidate) {
		return Verdict{Set: set}, nil // it has passed before
	}
	set, err := checks.Compile(ctx, candidate)
	if err != nil {
		verdict := Verdict{Reason: ReasonCompileFailed, Message: err.Error()}
		if !errors.As(err, &verdict.Errors) {
			return verdict, err
		}
		return verdict, nil
	}
	if set.Policies() == 0 {
		return Verdict{Reason: ReasonNoPolicies, Message: "no package has a rule deny, warn, patch or defaults: nothing would ever be asked"}, nil
	}
	next := live.With(set)
	if err := checks.Registrable(next.Policies(), next.Resources()); err != nil {
		return Verdict{Reason: ReasonVersionConflict, Message: err.Error()}, nil
	}
	return Verdict{Set: set, Warnings: warnings(object.Name, next)}, nil
}

// warnings are about the policies of one source in a snapshot.
func warnings(source string, snapshot *engine.Snapshot) []string {
	var out []string
	for _, p := range snapshot.Policies() {
		if p.Source != source {
			continue
		}
		if len(p.Match.Kinds) == 0 {
			out = append(out, fmt.Sprintf("policy %s names no kinds: it is asked about every object that is written", p.Package))
		}
		for _, kind := range p.Match.Kinds {
			_, known := snapshot.Resources().ByKind(kind.Group, kind.Kind)
			if !known && kind.Kind != "*" && kind.Group != "*" {
				out = append(out, fmt.Sprintf("policy %s: the cluster has no kind %s in group %q (yet); check the spelling and the group", p.Package, kind.Kind, kind.Group))
			}
		}
	}
	return out
}
