package library.memory_requests_test

import rego.v1

import data.library.memory_requests
import data.library.shared.testing

fields := {violation.field | some violation in memory_requests.deny}

test_requests if {
	fields == {"spec.containers[1].resources.requests.memory"} with input as testing.pod({"containers": [
		{"name": "a", "resources": {"limits": {"memory": "1Gi"}}},
		{"name": "b"},
	]})
}
