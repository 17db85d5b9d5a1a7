package library.system_priority_test

import rego.v1

import data.library.shared.testing
import data.library.system_priority

fields := {violation.field | some violation in system_priority.deny}

test_classes if {
	fields == {"spec.priorityClassName"} with input as testing.pod({"priorityClassName": "system-node-critical"})
	fields == set() with input as testing.pod({"priorityClassName": "batch"})
}

test_namespaces if {
	request := object.union(testing.pod({"priorityClassName": "system-node-critical"}), {"request": {"namespace": "kube-system"}})
	fields == set() with input as request
}
