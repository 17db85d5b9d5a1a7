package library.host_probes_test

import rego.v1

import data.library.host_probes
import data.library.shared.testing

fields := {violation.field | some violation in host_probes.deny}

test_hosts_of_probes_and_hooks if {
	fields == {
		"spec.containers[0].livenessProbe.httpGet.host",
		"spec.containers[0].lifecycle.preStop.tcpSocket.host",
	} with input as testing.container({
		"livenessProbe": {"httpGet": {"port": 80, "host": "127.0.0.1"}},
		"readinessProbe": {"httpGet": {"port": 80, "host": ""}},
		"lifecycle": {"preStop": {"tcpSocket": {"port": 80, "host": "10.0.0.1"}}},
	})
}
