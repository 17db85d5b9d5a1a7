package library.privileged_containers_test

import rego.v1

import data.library.privileged_containers
import data.library.shared.testing

fields := {violation.field | some violation in privileged_containers.deny}

test_containers_of_all_lists if {
	privileged := {"name": "x", "securityContext": {"privileged": true}}
	fields == {
		"spec.initContainers[0].securityContext.privileged",
		"spec.containers[1].securityContext.privileged",
		"spec.ephemeralContainers[0].securityContext.privileged",
	} with input as testing.pod({
		"initContainers": [privileged],
		"containers": [{"name": "web", "securityContext": {"privileged": false}}, privileged],
		"ephemeralContainers": [privileged],
	})
}
