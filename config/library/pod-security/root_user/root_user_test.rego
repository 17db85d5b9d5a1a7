package library.root_user_test

import rego.v1

import data.library.root_user
import data.library.shared.testing

fields := {violation.field | some violation in root_user.deny}

test_user_0 if {
	spec := {
		"securityContext": {"runAsUser": 0},
		"containers": [{"name": "a", "securityContext": {"runAsUser": 1000}}],
	}
	fields == {"spec.securityContext.runAsUser"} with input as testing.pod(spec)
	in_user_namespace := object.union(spec, {"hostUsers": false})
	fields == set() with input as testing.pod(in_user_namespace)
}
