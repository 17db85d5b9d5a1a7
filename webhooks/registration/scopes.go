package registration

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/engine"
)

// ScopeLabel marks the configurations of scopes below the enterprise; its value is the ID of
// the scope.
const ScopeLabel = "lintel.dev/scope"

// IsOurs says whether Lintel keeps a configuration.
func IsOurs(config metav1.Object) bool {
	return config.GetName() == ConfigurationName || isOfScope(config)
}

func isOfScope(config metav1.Object) bool {
	labels := config.GetLabels()
	return labels[ScopeLabel] != "" && labels[managedByLabel] == ConfigurationName
}

// ScopeConfigurations are the configurations of the scopes that have policies among the
// installed ones. They call Lintel for requests in the namespaces of the scope only, so
// that its policies, and a Lintel that does not answer, affect no other namespace.
func ScopeConfigurations(policies []engine.PolicyInfo, scopes []engine.ScopeInfo, resources *admission.Resources, settings Settings) (pairs []Pair) {
	for _, scope := range scopes {
		limit, reachable := limitTo(scope)
		own := slices.DeleteFunc(slices.Clone(policies), func(p engine.PolicyInfo) bool { return p.Scope != scope.Key })
		if !reachable || len(own) == 0 {
			continue
		}
		pair := settings.pair(ConfigurationName+"-"+limit.id, map[string]string{ScopeLabel: limit.id})
		// Only policies of the enterprise can be in conflict.
		_ = settings.addPolicies(pair, own, ofEnterprise(policies), resources, limit)
		pairs = append(pairs, pair)
	}
	return pairs
}

// limitTo limits entries to the namespaces of a scope. Names are a selector, for which the
// API server reads the namespace's own label. Globs are conditions on the name of the
// namespace: they hold from the moment in which a namespace is created, and need no update
// when it is.
func limitTo(scope engine.ScopeInfo) (limit policyScope, reachable bool) {
	limit.id = scope.ID()
	if !slices.ContainsFunc(scope.Namespaces, isGlob) {
		for _, name := range scope.Namespaces {
			outside := func(globs []string) bool { return !admission.MatchesAny(globs, name) }
			if !slices.ContainsFunc(scope.Above, outside) {
				limit.names = append(limit.names, name)
			}
		}
		return limit, len(limit.names) > 0
	}
	for i, globs := range append([][]string{scope.Namespaces}, scope.Above...) {
		if expression := inNamespaces(globs); expression != "" {
			limit.conditions = append(limit.conditions, admissionregistrationv1.MatchCondition{
				Name: fmt.Sprintf("in-the-namespaces-%d", i), Expression: expression,
			})
		}
	}
	return limit, true
}

func isGlob(text string) bool { return strings.ContainsAny(text, `*?[\`) }

// inNamespaces is a CEL expression for requests in namespaces that a name or glob matches;
// empty where it would always hold.
func inNamespaces(globs []string) string {
	var names, terms []string
	for _, glob := range globs {
		stem := strings.Trim(glob, "*")
		switch {
		case !isGlob(glob):
			names = append(names, fmt.Sprintf("%q", glob))
		case stem == "" || strings.ContainsAny(glob, `?[\`):
			return ""
		case glob == stem+"*":
			terms = append(terms, fmt.Sprintf("request.namespace.startsWith(%q)", stem))
		case glob == "*"+stem:
			terms = append(terms, fmt.Sprintf("request.namespace.endsWith(%q)", stem))
		default:
			pattern := "^" + strings.ReplaceAll(regexp.QuoteMeta(glob), `\*`, ".*") + "$"
			terms = append(terms, fmt.Sprintf("request.namespace.matches(%q)", pattern))
		}
	}
	if len(globs) == 0 {
		return "false"
	}
	if len(names) > 0 {
		terms = append([]string{"request.namespace in [" + strings.Join(names, ", ") + "]"}, terms...)
	}
	return "has(request.namespace) && (" + strings.Join(terms, " || ") + ")"
}
