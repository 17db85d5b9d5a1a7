package library.unmasked_proc_test

import rego.v1

import data.library.shared.testing
import data.library.unmasked_proc

fields := {violation.field | some violation in unmasked_proc.deny}

test_unmasked_mounts if {
	fields == {"spec.containers[0].securityContext.procMount"} with input as testing.pod({
		"hostUsers": false,
		"containers": [
			{"name": "a", "securityContext": {"procMount": "Unmasked"}},
			{"name": "b", "securityContext": {"procMount": "Default"}},
		],
	})
}
