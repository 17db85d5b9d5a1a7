package library.unconfined_seccomp_test

import rego.v1

import data.library.shared.testing
import data.library.unconfined_seccomp

fields := {violation.field | some violation in unconfined_seccomp.deny}

test_profiles_that_do_not_confine if {
	fields == {
		"spec.securityContext.seccompProfile.type",
		"spec.containers[0].securityContext.seccompProfile.type",
	} with input as testing.pod({
		"securityContext": {"seccompProfile": {"type": "Unconfined"}},
		"containers": [{"name": "a", "securityContext": {"seccompProfile": {}}}],
	})
}

test_profiles_that_confine if {
	every type in ["RuntimeDefault", "Localhost"] {
		fields == set() with input as testing.pod({"securityContext": {"seccompProfile": {"type": type}}})
	}
	fields == set() with input as testing.pod({})
}
