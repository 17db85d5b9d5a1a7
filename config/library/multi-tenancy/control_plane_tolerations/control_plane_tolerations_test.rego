package library.control_plane_tolerations_test

import rego.v1

import data.library.control_plane_tolerations
import data.library.shared.testing

fields := {violation.field | some violation in control_plane_tolerations.deny}

test_tolerations_and_selectors if {
	spec := {
		"tolerations": [{"key": "gpu"}, {"key": "node-role.kubernetes.io/control-plane"}],
		"nodeSelector": {"node-role.kubernetes.io/master": "", "disk": "ssd"},
	}
	fields == {
		"spec.tolerations[1]",
		`spec.nodeSelector["node-role.kubernetes.io/master"]`,
	} with input as testing.pod(spec)
	fields == set() with input as object.union(testing.pod(spec), {"request": {"namespace": "kube-system"}})
}
