package library.host_path_volumes_test

import rego.v1

import data.library.host_path_volumes
import data.library.shared.testing

fields := {violation.field | some violation in host_path_volumes.deny}

test_host_paths if {
	fields == {"spec.volumes[1].hostPath"} with input as testing.pod({"volumes": [
		{"name": "tmp", "emptyDir": {}},
		{"name": "logs", "hostPath": {"path": "/var/log"}},
	]})
}
