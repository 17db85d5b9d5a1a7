package library.host_ports_test

import rego.v1

import data.library.host_ports
import data.library.shared.testing

fields := {violation.field | some violation in host_ports.deny}

test_ports_of_the_node if {
	fields == {"spec.containers[0].ports[2].hostPort"} with input as testing.container({"ports": [
		{"containerPort": 80},
		{"containerPort": 80, "hostPort": 0},
		{"containerPort": 80, "hostPort": 80},
	]})
}
