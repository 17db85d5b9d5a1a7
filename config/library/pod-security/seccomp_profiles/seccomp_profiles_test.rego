package library.seccomp_profiles_test

import rego.v1

import data.library.seccomp_profiles
import data.library.shared.testing

fields := {violation.field | some violation in seccomp_profiles.deny}

test_containers_without_a_profile if {
	containers := [{"name": "a"}, {"name": "b", "securityContext": {"seccompProfile": {"type": "RuntimeDefault"}}}]
	fields == {"spec.containers[0].securityContext.seccompProfile"} with input as testing.pod({"containers": containers})
	fields == set() with input as testing.pod({
		"securityContext": {"seccompProfile": {"type": "Localhost", "localhostProfile": "a"}},
		"containers": containers,
	})
	fields == set() with input as testing.pod({"containers": containers, "os": {"name": "windows"}})
}

test_profiles_that_do_not_confine if {
	fields == {
		"spec.securityContext.seccompProfile.type",
		"spec.containers[0].securityContext.seccompProfile",
	} with input as testing.pod({
		"securityContext": {"seccompProfile": {"type": "Unconfined"}},
		"containers": [{"name": "a"}],
	})
}
