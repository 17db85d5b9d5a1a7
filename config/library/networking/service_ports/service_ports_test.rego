package library.service_ports_test

import rego.v1

import data.library.service_ports
import data.library.shared.testing

fields := {violation.field | some violation in service_ports.deny}

test_ports if {
	ports := [{"port": 22, "targetPort": 2222}, {"port": 80, "targetPort": 6379}, {"port": 443, "targetPort": "https"}]
	fields == {"spec.ports[0].port", "spec.ports[1].targetPort"} with input as testing.object({"spec": {"type": "LoadBalancer", "ports": ports}})
	fields == set() with input as testing.object({"spec": {"type": "ClusterIP", "ports": ports}})
}

test_the_parameter if {
	request := object.union(
		testing.object({"spec": {"type": "NodePort", "ports": [{"port": 22}, {"port": 8080}]}}),
		{"parameters": {"deniedPorts": [8080]}},
	)
	fields == {"spec.ports[1].port"} with input as request
}
