package webhooks

import "github.com/lintel-policy/lintel/policies/engine"

const (
	validatePath = "/validate/"
	mutatePath   = "/mutate/"
)

// policySegment is the path segment of the entry for sources with a failure policy.
func policySegment(policy engine.FailurePolicy) string {
	if policy == engine.Ignore {
		return "ignore"
	}
	return "fail"
}

// policyEntry is the name of that entry, the same in both configurations.
func policyEntry(policy engine.FailurePolicy) string {
	return policySegment(policy) + ".policies.lintel.dev"
}
