package library.ingress_class_test

import rego.v1

import data.library.ingress_class
import data.library.shared.testing

fields := {violation.field | some violation in ingress_class.deny}

test_classes if {
	fields == {"spec.ingressClassName"} with input as testing.object({"spec": {}})
	fields == set() with input as testing.object({"spec": {"ingressClassName": "public"}})
}

test_the_parameter if {
	request := object.union(testing.object({"spec": {"ingressClassName": "public"}}), {"parameters": {"ingressClasses": ["internal"]}})
	fields == {"spec.ingressClassName"} with input as request
}
