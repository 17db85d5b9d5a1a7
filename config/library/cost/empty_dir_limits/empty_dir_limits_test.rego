package library.empty_dir_limits_test

import rego.v1

import data.library.empty_dir_limits
import data.library.shared.testing

fields := {violation.field | some violation in empty_dir_limits.deny}

test_volumes if {
	fields == {"spec.volumes[0].emptyDir.sizeLimit"} with input as testing.pod({"volumes": [
		{"name": "a", "emptyDir": {}},
		{"name": "b", "emptyDir": {"sizeLimit": "1Gi"}},
		{"name": "c", "configMap": {"name": "c"}},
	]})
}
