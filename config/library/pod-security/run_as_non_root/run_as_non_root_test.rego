package library.run_as_non_root_test

import rego.v1

import data.library.run_as_non_root
import data.library.shared.testing

fields := {violation.field | some violation in run_as_non_root.deny}

test_a_container_without_the_setting if {
	fields == {"spec.containers[0].securityContext.runAsNonRoot"} with input as testing.pod({"containers": [
		{"name": "a"},
		{"name": "b", "securityContext": {"runAsNonRoot": true}},
	]})
}

test_the_setting_of_the_pod if {
	fields == set() with input as testing.pod({
		"securityContext": {"runAsNonRoot": true},
		"containers": [{"name": "a"}],
	})
}

test_contexts_that_permit_root if {
	spec := {
		"securityContext": {"runAsNonRoot": true},
		"containers": [{"name": "a", "securityContext": {"runAsNonRoot": false}}],
	}
	fields == {"spec.containers[0].securityContext.runAsNonRoot"} with input as testing.pod(spec)
	in_user_namespace := object.union(spec, {"hostUsers": false})
	fields == set() with input as testing.pod(in_user_namespace)
}
