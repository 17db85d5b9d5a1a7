package policy

import (
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
}

// Registrable says whether the policies of a snapshot can be registered together.
type Registrable func(policies []engine.PolicyInfo, resources *engine.Resources) error

// Gate judges the revision in a PolicySource, before it goes live beside the other
// sources. It is a pure function of its arguments; Lintel's webhook asks it, too. So
// it does not ask whether the kinds that policies require may be read: the permission
// may come after the source.
func Gate(object *v1alpha1.PolicySource, live *engine.Live, registrable Registrable) Verdict {
	if object.Spec.Inline == nil {
		return Verdict{Reason: ReasonOriginNotServed, Message: "only inline origins are served by this version; put the files under spec.inline.files"}
	}
	if level := object.Spec.Scope.Level; level != "" && level != v1alpha1.ScopeLevelEnterprise {
		return Verdict{Reason: ReasonScopeNotServed, Message: fmt.Sprintf("scope level %s is not served by this version; use enterprise", level)}
	}
	candidate := source.FromPolicySource(object, object.Spec.Inline.Files, "")
	if set, ok := live.Get(object.Name); ok && set.CompiledFrom(candidate) {
		return Verdict{Set: set} // it has passed before
	}
	set, err := engine.Compile(candidate)
	if err != nil {
		verdict := Verdict{Reason: ReasonCompileFailed, Message: err.Error()}
		errors.As(err, &verdict.Errors)
		return verdict
	}
	next := live.With(set)
	if err := registrable(next.Policies(), next.Resources()); err != nil {
		return Verdict{Reason: ReasonVersionConflict, Message: err.Error()}
	}
	return Verdict{Set: set}
}
