package library.se_linux_options_test

import rego.v1

import data.library.se_linux_options
import data.library.shared.testing

fields := {violation.field | some violation in se_linux_options.deny}

test_types_users_and_roles if {
	fields == {
		"spec.securityContext.seLinuxOptions.type",
		"spec.containers[0].securityContext.seLinuxOptions.user",
		"spec.containers[0].securityContext.seLinuxOptions.role",
	} with input as testing.pod({
		"securityContext": {"seLinuxOptions": {"type": "spc_t"}},
		"containers": [{"name": "web", "securityContext": {"seLinuxOptions": {"type": "container_t", "user": "u", "role": "r"}}}],
	})
}

test_levels if {
	fields == set() with input as testing.pod({"securityContext": {"seLinuxOptions": {"level": "s0:c1", "user": ""}}})
}
