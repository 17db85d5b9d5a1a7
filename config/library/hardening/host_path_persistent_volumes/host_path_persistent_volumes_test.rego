package library.host_path_persistent_volumes_test

import rego.v1

import data.library.host_path_persistent_volumes
import data.library.shared.testing

fields := {violation.field | some violation in host_path_persistent_volumes.deny}

test_types if {
	fields == {"spec.hostPath"} with input as testing.object({"spec": {"hostPath": {"path": "/data"}}})
	fields == set() with input as testing.object({"spec": {"csi": {"driver": "a"}}})
}
