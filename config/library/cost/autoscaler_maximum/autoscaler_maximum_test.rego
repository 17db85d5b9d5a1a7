package library.autoscaler_maximum_test

import rego.v1

import data.library.autoscaler_maximum
import data.library.shared.testing

fields := {violation.field | some violation in autoscaler_maximum.deny}

test_replicas if {
	fields == {"spec.maxReplicas"} with input as testing.object({"spec": {"maxReplicas": 21}})
	fields == set() with input as testing.object({"spec": {"maxReplicas": 20}})
	fields == set() with input as object.union(testing.object({"spec": {"maxReplicas": 21}}), {"parameters": {"maximumReplicas": 30}})
}
