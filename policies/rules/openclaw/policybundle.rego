# METADATA
# title: PolicyBundles are consistent
# description: |
#   input.facts has the results of the analysis of the texts: errors, and comparisons with
#   the policies of broader scopes.
# custom:
#   match:
#     kinds: [{group: openclaw.enterprise.io, version: v1, kind: PolicyBundle}]
#     operations: [CREATE, UPDATE]
package openclaw.policybundle

import rego.v1

bundle := input.request.object

policies := object.get(bundle, ["spec", "policies"], [])

domains := {"models", "actions", "integrations", "agent-to-agent", "features", "data", "audit"}

scopes := {"enterprise": 0, "org": 1, "team": 2, "user": 3}

deny contains "policies list must not be empty" if not policies[0]

deny contains sprintf("policy[%d]: name is required", [i]) if {
	some i, policy in policies
	object.get(policy, "name", "") == ""
}

deny contains sprintf("policy[%d]: content is required", [i]) if {
	some i, policy in policies
	object.get(policy, "content", "") == ""
}

deny contains sprintf("policy[%d]: invalid domain %q", [i, domain]) if {
	some i, policy in policies
	domain := object.get(policy, "domain", "")
	not domain in domains
}

deny contains sprintf("policy[%d]: invalid scope %q", [i, scope]) if {
	some i, policy in policies
	scope := object.get(policy, "scope", "")
	not scopes[scope]
	scope != "enterprise"
}

# The name of its file in the ConfigMap of the bundle.
file(policy) := sprintf("%s-%s-%s.rego", [policy.scope, replace(policy.domain, "-", "_"), name]) if {
	name := regex.replace(lower(policy.name), `[^-a-z0-9_]`, "_")
}

indices[file(policy)] contains i if some i, policy in policies

deny contains msg if {
	some all in indices
	first := min(all)
	some i in all
	i > first
	msg := sprintf("policy[%d]: %q gives the file name that policy[%d] %q gives; rename one", [i, policies[i].name, first, policies[first].name])
}

deny contains msg if {
	some error in input.facts.errors
	policy := policies[error.index]
	policy.content != ""
	msg := sprintf("policy[%d] %q%s: %s", [error.index, policy.name, place(error), error.message])
}

place(error) := sprintf(", line %d, column %d", [error.line, error.column]) if error.column > 0

place(error) := sprintf(", line %d", [error.line]) if {
	error.line > 0
	error.column == 0
}

place(error) := "" if error.line == 0

deny contains msg if {
	root := input.facts.rootNamespace
	bundle.metadata.namespace != root
	enterprise := [policies[i].name | some i in input.facts.changed; policies[i].scope == "enterprise"]
	count(enterprise) > 0
	msg := sprintf("enterprise policies (%s) are admitted in namespace %q only, from where every namespace inherits them; use a narrower scope", [concat(", ", enterprise), root])
}

# Then they are as binding as the rights to write in their namespace are narrow.
warn contains msg if {
	object.get(input.facts, "rootNamespace", "") == ""
	enterprise := [policies[i].name | some i in input.facts.changed; policies[i].scope == "enterprise"]
	count(enterprise) > 0
	msg := sprintf(
		"anyone who may write PolicyBundles in this namespace may write or remove enterprise policies (%s), for no namespace is set aside for them; see --openclaw-root-namespace",
		[concat(", ", enterprise)],
	)
}

deny contains comparison.text if {
	some comparison in input.facts.comparisons
	comparison.verdict == "counterexample"
}

warn contains msg if {
	some comparison in input.facts.comparisons
	comparison.verdict == "unknown"
	not comparison.conflict
	msg := sprintf("%s; it is admitted, since at run time it cannot", [comparison.text])
}

warn contains msg if {
	some comparison in input.facts.comparisons
	comparison.verdict == "unknown"
	comparison.conflict
	msg := sprintf("%s; it is admitted, and gateways get no answer where they differ", [comparison.text])
}

warn contains msg if {
	some comparison in input.facts.tightened
	msg := sprintf("%s expands beyond this bundle now (%s); it is restricted at run time, and its bundle shows PolicyReady=False with an input", [comparison.policy, comparison.decision])
}

warn contains msg if some msg in input.facts.unordered
