package library.privilege_escalation_test

import rego.v1

import data.library.privilege_escalation
import data.library.shared.testing

fields := {violation.field | some violation in privilege_escalation.deny}

containers := [
	{"name": "a", "securityContext": {"allowPrivilegeEscalation": false}},
	{"name": "b", "securityContext": {"allowPrivilegeEscalation": true}},
	{"name": "c"},
]

test_containers_without_the_setting if {
	fields == {
		"spec.containers[1].securityContext.allowPrivilegeEscalation",
		"spec.containers[2].securityContext.allowPrivilegeEscalation",
	} with input as testing.pod({"containers": containers})
}

test_windows if {
	fields == set() with input as testing.pod({"containers": containers, "os": {"name": "windows"}})
}
