package scope

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/engine"
	"github.com/lintel-policy/lintel/policies/exception"
	"github.com/lintel-policy/lintel/policies/hierarchy"
)

// The reasons of problems of exceptions, in addition to those of the engine.
const (
	// ReasonNamespaces is the reason for denying a PolicyException that selects namespaces outside
	// the scope that owns the rule. In the others, it has an effect.
	ReasonNamespaces = "OutsideScope"
	// ReasonNoField reports that the PolicyException selects containers, and that no denial of the
	// policy names a field in one.
	ReasonNoField = "NoField"
)

// CheckException returns why an exception must not be admitted at a time, among the policies of a
// snapshot, other than that it has expired.
func CheckException(snapshot *engine.Snapshot, one *exception.Exception, now time.Time) []engine.ExceptionProblem {
	problems := snapshot.ExceptionProblems(one, now)
	for _, scope := range snapshot.Scopes() {
		if scope.Key != one.Scope {
			continue
		}
		for _, bounds := range append([][]string{scope.Namespaces}, scope.Above...) {
			name, err := outside(one.Namespaces, bounds)
			switch {
			case err != nil:
				problems = append(problems, engine.ExceptionProblem{Reason: ReasonNamespaces, Message: fmt.Sprintf(
					"spec.match.namespaces: Invalid value: they cannot be compared with those of %s: %v", one.Scope, err)})
			case name != "":
				problems = append(problems, engine.ExceptionProblem{Reason: ReasonNamespaces, Message: fmt.Sprintf(
					"spec.match.namespaces: Invalid value %q: namespace %q is outside %s, which has %s only",
					strings.Join(one.Namespaces, ", "), name, one.Scope, strings.Join(bounds, ", "))})
			}
		}
	}
	return problems
}

// ScopesOver are the scopes whose owners may make exceptions from the rules of a scope: its own
// and those above it, broadest first.
func ScopesOver(key hierarchy.Key, sets []*engine.PolicySet) []hierarchy.Key {
	scopes := make([]hierarchy.Scope, len(sets))
	for i, set := range sets {
		scopes[i] = set.Source().Scope
	}
	tree := hierarchy.New(scopes...)
	found := []hierarchy.Key{{Level: hierarchy.Enterprise}}
	for _, scope := range scopes {
		if scope.Key() != key {
			continue
		}
		for _, above := range tree.Above(scope) {
			if !slices.Contains(found, above) {
				found = append(found, above)
			}
		}
	}
	if !slices.Contains(found, key) {
		found = append(found, key)
	}
	return found
}

// WarnException returns why an exception has no effect although it is permitted: "" if it may
// have one. The denials of a policy that name no field are never about a container.
func WarnException(set *engine.PolicySet, one *exception.Exception) string {
	if !one.LimitsContainers() || set == nil || namesFields(set, one.Policy) {
		return ""
	}
	return fmt.Sprintf("spec.containers and spec.images exempt nothing: no denial of policy %s has a field; add field to its denials, such as {\"msg\": msg, \"field\": sprintf(\"spec.containers[%%d]\", [i])}", one.Policy)
}

// namesFields reports whether a policy, or a library of its source, has an object with the key
// field.
func namesFields(set *engine.PolicySet, policy string) bool {
	if strings.Contains(policy, "/") { // a constraint, whose template is in YAML
		return slices.ContainsFunc(slices.Collect(maps.Values(set.Files())), func(text string) bool { return strings.Contains(text, `"field"`) })
	}
	others := map[string]bool{}
	for _, other := range engine.Describe(set) {
		others[other.Package] = other.Package != policy
	}
	modules, _, _ := definition.ReadFiles(set.Files(), definition.FileRego)
	for _, module := range modules {
		if others[definition.PackageName(module)] {
			continue
		}
		found := false
		ast.WalkTerms(module, func(term *ast.Term) bool {
			if object, ok := term.Value.(ast.Object); ok && object.Get(ast.StringTerm("field")) != nil {
				found = true
			}
			return found
		})
		if found {
			return true
		}
	}
	return false
}
