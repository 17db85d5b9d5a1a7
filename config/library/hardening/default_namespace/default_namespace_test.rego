package library.default_namespace_test

import rego.v1

import data.library.default_namespace
import data.library.shared.testing

fields := {violation.field | some violation in default_namespace.deny}

test_objects if {
	fields == {"metadata.namespace"} with input as testing.object({"kind": "Pod"})
	fields == {"metadata.namespace"} with input as testing.object({"kind": "Service"})
}

test_the_service_of_the_api_server if {
	request := object.union(testing.object({"kind": "Service"}), {"name": "kubernetes"})
	fields == set() with input as request
}
