package library.load_balancer_services_test

import rego.v1

import data.library.load_balancer_services
import data.library.shared.testing

fields := {violation.field | some violation in load_balancer_services.deny}

test_types if {
	fields == {"spec.type"} with input as testing.object({"spec": {"type": "LoadBalancer"}})
	fields == set() with input as testing.object({"spec": {"type": "ClusterIP"}})
	fields == set() with input as object.union(testing.object({"spec": {"type": "LoadBalancer"}}), {"request": {"namespace": "ingress-public"}})
}
