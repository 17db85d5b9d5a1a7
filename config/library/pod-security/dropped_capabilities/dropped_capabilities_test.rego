package library.dropped_capabilities_test

import rego.v1

import data.library.dropped_capabilities
import data.library.shared.testing

fields := {violation.field | some violation in dropped_capabilities.deny}

containers := [
	{"name": "a", "securityContext": {"capabilities": {"drop": ["ALL"], "add": ["NET_BIND_SERVICE"]}}},
	{"name": "b", "securityContext": {"capabilities": {"drop": ["NET_RAW"], "add": ["CHOWN"]}}},
	{"name": "c"},
]

test_capabilities if {
	fields == {
		"spec.containers[1].securityContext.capabilities.drop",
		"spec.containers[1].securityContext.capabilities.add[0]",
		"spec.containers[2].securityContext.capabilities.drop",
	} with input as testing.pod({"containers": containers})
}

test_windows if {
	fields == set() with input as testing.pod({"containers": containers, "os": {"name": "windows"}})
}
