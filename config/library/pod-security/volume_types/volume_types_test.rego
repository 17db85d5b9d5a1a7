package library.volume_types_test

import rego.v1

import data.library.shared.testing
import data.library.volume_types

fields := {violation.field | some violation in volume_types.deny}

test_other_types if {
	fields == {"spec.volumes[1]", "spec.volumes[2]"} with input as testing.pod({"volumes": [
		{"name": "a", "secret": {"secretName": "a"}},
		{"name": "b", "nfs": {"server": "storage", "path": "/"}},
		{"name": "c"},
	]})
}
