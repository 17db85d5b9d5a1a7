package library.proc_mount_test

import rego.v1

import data.library.proc_mount
import data.library.shared.testing

fields := {violation.field | some violation in proc_mount.deny}

test_unmasked_mounts if {
	containers := [
		{"name": "a", "securityContext": {"procMount": "Default"}},
		{"name": "b", "securityContext": {"procMount": "Unmasked"}},
	]
	fields == {"spec.containers[1].securityContext.procMount"} with input as testing.pod({"containers": containers})
	fields == set() with input as testing.pod({"containers": containers, "hostUsers": false})
}
