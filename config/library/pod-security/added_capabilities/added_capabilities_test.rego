package library.added_capabilities_test

import rego.v1

import data.library.added_capabilities
import data.library.shared.testing

fields := {violation.field | some violation in added_capabilities.deny}

test_capabilities_outside_of_the_default_set if {
	fields == {
		"spec.containers[0].securityContext.capabilities.add[1]",
		"spec.containers[0].securityContext.capabilities.add[2]",
	} with input as testing.container({"securityContext": {"capabilities": {"add": ["CHOWN", "SYS_ADMIN", "ALL"]}}})
}
