package library.host_namespaces_test

import rego.v1

import data.library.host_namespaces
import data.library.shared.testing

fields := {violation.field | some violation in host_namespaces.deny}

test_each_namespace if {
	fields == {"spec.hostNetwork", "spec.hostIPC"} with input as testing.pod({
		"hostNetwork": true,
		"hostPID": false,
		"hostIPC": true,
	})
}
