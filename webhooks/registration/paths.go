// Package registration keeps the API server's webhook configurations what the installed
// policies ask for.
//
// Two configurations have the entries of the products and of the enterprise's policies. Each
// scope below the enterprise has two of its own, for requests in its namespaces only.
//
// Invariant: a registration is never narrower than the policies that are installed, and
// the entries of each configuration are a fixed set: what there is nothing to call for has
// no rules.
package registration

import "github.com/lintel-policy/lintel/policies/definition"

// The prefixes of the paths of entries, before the last segment.
const (
	ValidatePath = "/validate/"
	MutatePath   = "/mutate/"
)

// PolicySegment is the path segment of the entry for sources with a failure policy.
func PolicySegment(policy definition.FailurePolicy) string {
	if policy == definition.Ignore {
		return "ignore"
	}
	return "fail"
}

// PolicyEntry is the name of that entry, the same in both configurations.
func PolicyEntry(policy definition.FailurePolicy) string {
	return PolicySegment(policy) + ".policies.lintel.dev"
}

// ScopeEntry is the name of the entry of a scope below the enterprise.
func ScopeEntry(policy definition.FailurePolicy, id string) string {
	return PolicySegment(policy) + "." + id + ".policies.lintel.dev"
}
