# METADATA
# title: PolicyExceptions are created by the owners of rules, for a limited time
# custom:
#   match:
#     kinds: [{group: policy.lintel.dev, version: v1alpha1, kind: PolicyException}]
#     operations: [CREATE, UPDATE]
#   enforcement: deny
package exceptions.policyexception

import rego.v1

object := input.request.object

# A change of labels or finalizers must not evaluate an old exception again.
changes_spec if input.request.operation == "CREATE"

changes_spec if object.spec != input.request.oldObject.spec

deny contains msg if {
	changes_spec
	not input.facts.permitted
	msg := sprintf(
		"spec.scope: Forbidden: user %q may not make exceptions from the rules of %s; that takes the verb except on policyscopes.policy.lintel.dev named %s",
		[input.request.userInfo.username, input.facts.scope, concat(" or ", input.facts.scopes)],
	)
}

deny contains problem.message if {
	changes_spec
	some problem in input.facts.problems
}

deny contains msg if {
	changes_spec
	input.facts.expired
	msg := sprintf("spec.expiresAt: Invalid value %q: must be in the future", [object.spec.expiresAt])
}

deny contains msg if {
	changes_spec
	count(trim_space(object.spec.reason)) < 10
	msg := sprintf("spec.reason: Invalid value %q: must explain the exception in at least 10 characters", [object.spec.reason])
}

warn contains input.facts.warning if {
	changes_spec
	input.facts.warning != ""
}
