package library.memory_limits_test

import rego.v1

import data.library.memory_limits
import data.library.shared.testing

fields := {violation.field | some violation in memory_limits.deny}

test_limits if {
	spec := {"containers": [
		{"name": "a", "resources": {"limits": {"memory": "1Gi"}}},
		{"name": "b", "resources": {"requests": {"memory": "1Gi"}}},
	]}
	fields == {"spec.containers[1].resources.limits.memory"} with input as testing.pod(spec)
	fields == set() with input as testing.pod(object.union(spec, {"resources": {"limits": {"memory": "2Gi"}}}))
}
