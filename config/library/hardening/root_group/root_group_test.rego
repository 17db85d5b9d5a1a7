package library.root_group_test

import rego.v1

import data.library.root_group
import data.library.shared.testing

fields := {violation.field | some violation in root_group.deny}

test_group_0 if {
	spec := {
		"securityContext": {"runAsGroup": 1, "fsGroup": 0, "supplementalGroups": [1, 0]},
		"containers": [{"name": "a", "securityContext": {"runAsGroup": 0}}],
	}
	fields == {
		"spec.securityContext.fsGroup",
		"spec.securityContext.supplementalGroups[1]",
		"spec.containers[0].securityContext.runAsGroup",
	} with input as testing.pod(spec)
	in_user_namespace := object.union(spec, {"hostUsers": false})
	fields == set() with input as testing.pod(in_user_namespace)
}
