package library.node_port_services_test

import rego.v1

import data.library.node_port_services
import data.library.shared.testing

fields := {violation.field | some violation in node_port_services.deny}

test_types if {
	fields == {"spec.type"} with input as testing.object({"spec": {"type": "NodePort"}})
	fields == set() with input as testing.object({"spec": {"type": "ClusterIP"}})
	fields == set() with input as testing.object({"spec": {"type": "LoadBalancer"}})
}

test_load_balancers if {
	strict := {"parameters": {"loadBalancerNodePorts": false}}
	with_ports := object.union(testing.object({"spec": {"type": "LoadBalancer"}}), strict)
	fields == {"spec.allocateLoadBalancerNodePorts"} with input as with_ports
	without_ports := object.union(testing.object({"spec": {"type": "LoadBalancer", "allocateLoadBalancerNodePorts": false}}), strict)
	fields == set() with input as without_ports
}
