package library.shared_process_namespaces_test

import rego.v1

import data.library.shared.testing
import data.library.shared_process_namespaces

fields := {violation.field | some violation in shared_process_namespaces.deny}

test_shared_processes if {
	fields == {"spec.shareProcessNamespace"} with input as testing.pod({"shareProcessNamespace": true})
	fields == set() with input as testing.pod({"shareProcessNamespace": false})
}
