package source

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/engine"
	"github.com/lintel-policy/lintel/policies/hierarchy"
	"github.com/lintel-policy/lintel/policies/scope"
	"github.com/lintel-policy/lintel/policies/suite"
)

// The reasons for which the gate refuses a revision, in addition to those of policies/scope.
const (
	ReasonCompileFailed   = "CompileFailed"
	ReasonVersionConflict = "VersionConflict"
	ReasonNoPolicies      = "NoPolicies"
	ReasonTestsFailed     = "TestsFailed"
)

// Verdict is what the gate says of a revision.
type Verdict struct {
	// Set is the compiled revision: nil where it is refused.
	Set *engine.PolicySet
	// Reason and Message explain the refusal.
	Reason, Message string
	// Errors are the places, where there are any.
	Errors definition.CompileErrorList
	// OutsideScope says that the revision reaches beyond its scope. One that passed
	// before, and does so since a scope above was narrowed, is not refused for it.
	OutsideScope bool
	// Warnings are likely mistakes.
	Warnings definition.CompileErrorList
	// wrongReferences says that it is refused by what the schemas of kinds say now.
	wrongReferences bool
}

// WarningTexts are the warnings as the author of the source reads them.
func (v Verdict) WarningTexts() []string {
	var out []string
	for _, warning := range v.Warnings {
		out = append(out, warning.Error())
	}
	return out
}

// Gate reviews revisions before they become live. Its fields are the parts that other packages
// provide.
type Gate struct {
	// Compile compiles a source within limits. An error that is not a definition.CompileErrorList
	// is not about the source.
	Compile func(context.Context, definition.Source) (*engine.PolicySet, error)
	// Test runs the tests of a source, within limits. An error that is not a
	// definition.CompileErrorList is not about the source.
	Test func(context.Context, definition.Source) (suite.Results, error)
	// Registrable says whether the policies of a snapshot can be registered together.
	Registrable func(policies []engine.PolicyInfo, resources *admission.Resources) error
}

// Evaluate reviews a revision against the other live sources; Lintel's webhook uses it, too. It
// does not check whether the required kinds may be read, because the permission may be granted
// after the source is created. An error means that there is no verdict.
func (g Gate) Evaluate(ctx context.Context, candidate definition.Source, live *engine.Live) (Verdict, error) {
	before, isLive := live.Get(candidate.Name)
	if isLive && before.CompiledFrom(candidate) {
		verdict := g.evaluateLive(before, candidate, live)
		verdict.Warnings = warnings(before, live.Resources())
		return verdict, nil
	}
	set, err := g.Compile(ctx, candidate)
	if err != nil {
		return notCompiled(err)
	}
	if set.Policies() == 0 {
		return Verdict{
			Reason: ReasonNoPolicies, Errors: set.NeverEvaluated(),
			Message: "no package has a rule deny, warn, patch or defaults, and there is no constraint: nothing would ever be asked",
		}, nil
	}
	if violations := scope.Check(set, before, others(live, candidate.Name), live.Resources()); len(violations) > 0 {
		return beyondScope(violations), nil
	}
	next := live.With(set)
	if err := g.Registrable(next.Policies(), next.Resources()); err != nil {
		return Verdict{Reason: ReasonVersionConflict, Message: err.Error()}, nil
	}
	results, err := g.Test(ctx, candidate)
	switch {
	case err != nil:
		return notCompiled(err)
	case results.Totals.Failed > 0:
		return testsFailed(results), nil
	}
	return Verdict{Set: set, Warnings: warnings(set, live.Resources())}, nil
}

// notCompiled is the verdict on errors that are about the source, and no verdict on
// others.
func notCompiled(err error) (Verdict, error) {
	verdict := Verdict{Reason: ReasonCompileFailed, Message: err.Error(), wrongReferences: errors.As(err, new(referenceErrors))}
	if !errors.As(err, &verdict.Errors) {
		return verdict, err
	}
	if found, ok := errors.AsType[faults](err); ok {
		verdict.Warnings = found.likely
	}
	return verdict, nil
}

// testsFailed names the cases that failed.
func testsFailed(results suite.Results) Verdict {
	verdict := Verdict{Reason: ReasonTestsFailed}
	for _, c := range results.Cases {
		if !c.Failed() {
			continue
		}
		name := strings.Join(slices.DeleteFunc([]string{c.Suite, c.Test, c.Name}, func(part string) bool { return part == "" }), "/")
		message := strings.TrimSpace("test " + name + " " + string(c.Outcome))
		if c.Message != "" {
			message += ": " + c.Message
		}
		verdict.Errors = append(verdict.Errors, definition.CompileError{File: c.File, Line: c.Line, Message: message})
	}
	verdict.Message = fmt.Sprintf("%d of %d test cases failed: %v", results.Totals.Failed, results.Totals.Cases, verdict.Errors[0])
	return verdict
}

// evaluateLive reviews a live revision against the other live sources: a broader scope may have
// narrowed since, and an older source may claim a package. Two sources that claim one at the
// same time do not see each other before both are live.
func (g Gate) evaluateLive(set *engine.PolicySet, candidate definition.Source, live *engine.Live) Verdict {
	verdict := g.EvaluateScope(candidate, live)
	if violations := scope.CheckPackages(set, others(live, candidate.Name)); verdict.Reason == "" && len(violations) > 0 {
		verdict = beyondScope(violations)
	}
	verdict.Set = set
	return verdict
}

// EvaluateScope reviews a source whose files are not available yet.
func (g Gate) EvaluateScope(candidate definition.Source, live *engine.Live) Verdict {
	var scopes []hierarchy.Scope
	for _, other := range others(live, candidate.Name) {
		scopes = append(scopes, other.Source().Scope)
	}
	return beyondScope(scope.CheckScope(candidate.Scope, scopes))
}

func others(live *engine.Live, name string) []*engine.PolicySet {
	return slices.DeleteFunc(live.Sets(), func(set *engine.PolicySet) bool { return set.Name() == name })
}

// beyondScope is the verdict on a source that reaches beyond its scope: the zero
// Verdict where nothing does.
func beyondScope(violations []scope.Violation) Verdict {
	if len(violations) == 0 {
		return Verdict{}
	}
	verdict := Verdict{Reason: violations[0].Reason, OutsideScope: true}
	var messages []string
	for _, violation := range violations {
		messages = append(messages, violation.Error())
		verdict.Errors = append(verdict.Errors, violation.CompileError)
	}
	verdict.Message = strings.Join(messages, "; ")
	return verdict
}

// Mistakes are certain mistakes in policies that compile: misspelled rules and kinds, reads and
// conditions that are always undefined or never hold, and parts of the source that are never
// enforced.
func Mistakes(set *engine.PolicySet, resources *admission.Resources) definition.CompileErrorList {
	_, missing := set.MissingData()
	found := slices.Concat(set.NeverEvaluated(), evaluatedPassedOver(set), missing, set.Inert(resources))
	for _, one := range findUnknownKinds(set, resources) {
		if one.suggestion != "" {
			found = append(found, one.CompileError)
		}
	}
	return found
}

// warnings are about the policies of a set, and about other files of its source.
func warnings(set *engine.PolicySet, resources *admission.Resources) definition.CompileErrorList {
	_, missing := set.MissingData()
	out := slices.Concat(set.NeverEvaluated(), PassedOver(set.Files()), missing, set.Inert(resources), set.Warnings())
	for _, one := range findUnknownKinds(set, resources) {
		out = append(out, one.CompileError)
	}
	for i, p := range engine.Describe(set) {
		if len(p.Match.Kinds) == 0 {
			place := "custom.match.kinds in its METADATA"
			if p.AnyVersion { // a constraint's
				place = "spec.match.kinds"
			}
			if set.List()[i].Check != nil {
				place = "spec.matchConstraints"
			}
			out = append(out, p.Location.Errorf("policy %s names no kinds: it is asked about every object that is written, of every kind; name them under %s", p.Package, place))
		}
	}
	return out
}

// unknownKind is a kind that a policy names and that the API server does not serve.
type unknownKind struct {
	definition.CompileError
	suggestion string
}

func findUnknownKinds(set *engine.PolicySet, resources *admission.Resources) []unknownKind {
	var out []unknownKind
	for _, p := range engine.Describe(set) {
		for _, kind := range p.Match.Kinds {
			_, known := resources.ByKind(kind.Group, kind.Kind)
			if !known && !(p.AnyVersion && resources.OnlyInSubresources(kind)) && kind.Kind != "*" && kind.Group != "*" {
				at := definition.LineInMetadata(set.Files(), p.Location, kind.Kind)
				suggestion := resources.Suggest(kind.Group, kind.Kind)
				out = append(out, unknownKind{at.Errorf("policy %s: the cluster has no kind %s in group %q (yet)%s", p.Package, kind.Kind, kind.Group,
					cmp.Or(suggestion, "; check the spelling and the group")), suggestion})
			}
		}
	}
	return out
}
