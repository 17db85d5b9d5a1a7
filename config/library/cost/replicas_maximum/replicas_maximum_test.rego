package library.replicas_maximum_test

import rego.v1

import data.library.replicas_maximum
import data.library.shared.testing

fields := {violation.field | some violation in replicas_maximum.deny}

scaled(replicas) := {"kind": "Deployment", "spec": {"replicas": replicas}}

test_replicas if {
	fields == {"spec.replicas"} with input as testing.object(scaled(21))
	fields == set() with input as testing.object(scaled(20))
	fields == set() with input as testing.object({"kind": "Deployment", "spec": {}})
	fields == set() with input as object.union(testing.object(scaled(21)), {"parameters": {"maximumReplicas": 30}})
}

test_changes_of_other_fields if {
	new := {"kind": "Deployment", "spec": {"replicas": 21, "paused": true}}
	fields == set() with input as testing.update(new, scaled(21))
}
