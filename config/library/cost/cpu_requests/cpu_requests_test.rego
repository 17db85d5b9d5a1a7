package library.cpu_requests_test

import rego.v1

import data.library.cpu_requests
import data.library.shared.testing

fields := {violation.field | some violation in cpu_requests.deny}

test_requests if {
	spec := {"containers": [
		{"name": "a", "resources": {"requests": {"cpu": "100m"}}},
		{"name": "b", "resources": {"limits": {"cpu": "1"}}},
		{"name": "c", "resources": {"requests": {"memory": "1Gi"}}},
		{"name": "d"},
	]}
	fields == {"spec.containers[2].resources.requests.cpu", "spec.containers[3].resources.requests.cpu"} with input as testing.pod(spec)
	fields == set() with input as testing.pod(object.union(spec, {"resources": {"requests": {"cpu": "1"}}}))
}
