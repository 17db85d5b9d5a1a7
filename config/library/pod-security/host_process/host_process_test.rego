package library.host_process_test

import rego.v1

import data.library.host_process
import data.library.shared.testing

fields := {violation.field | some violation in host_process.deny}

test_the_pod_and_its_containers if {
	fields == {
		"spec.securityContext.windowsOptions.hostProcess",
		"spec.containers[0].securityContext.windowsOptions.hostProcess",
	} with input as testing.pod({
		"securityContext": {"windowsOptions": {"hostProcess": true}},
		"containers": [{"name": "web", "securityContext": {"windowsOptions": {"hostProcess": true}}}],
	})
}

test_other_windows_options if {
	fields == set() with input as testing.pod({"securityContext": {"windowsOptions": {"hostProcess": false}}})
}
