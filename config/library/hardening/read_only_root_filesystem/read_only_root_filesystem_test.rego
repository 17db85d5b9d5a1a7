package library.read_only_root_filesystem_test

import rego.v1

import data.library.read_only_root_filesystem
import data.library.shared.testing

fields := {violation.field | some violation in read_only_root_filesystem.deny}

test_root_filesystems if {
	spec := {
		"initContainers": [{"name": "a", "securityContext": {"readOnlyRootFilesystem": false}}],
		"containers": [{"name": "b", "securityContext": {"readOnlyRootFilesystem": true}}, {"name": "c"}],
		"ephemeralContainers": [{"name": "d"}],
	}
	fields == {
		"spec.initContainers[0].securityContext.readOnlyRootFilesystem",
		"spec.containers[1].securityContext.readOnlyRootFilesystem",
	} with input as testing.pod(spec)
	for_windows := object.union(spec, {"os": {"name": "windows"}})
	fields == set() with input as testing.pod(for_windows)
}
