package library.raw_sockets_test

import rego.v1

import data.library.raw_sockets
import data.library.shared.testing

fields := {violation.field | some violation in raw_sockets.deny}

containers := [
	{"name": "a", "securityContext": {"capabilities": {"drop": ["NET_RAW"]}}},
	{"name": "b", "securityContext": {"capabilities": {"drop": ["ALL"], "add": ["NET_RAW"]}}},
	{"name": "c"},
]

test_net_raw if {
	fields == {
		"spec.containers[1].securityContext.capabilities.add[0]",
		"spec.containers[2].securityContext.capabilities.drop",
	} with input as testing.pod({"containers": containers})
	fields == set() with input as testing.pod({"containers": containers, "os": {"name": "windows"}})
}
