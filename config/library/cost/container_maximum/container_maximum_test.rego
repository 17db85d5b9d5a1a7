package library.container_maximum_test

import rego.v1

import data.library.container_maximum
import data.library.shared.testing

fields := {violation.field | some violation in container_maximum.deny}

test_maxima if {
	request := testing.container({"resources": {"requests": {"cpu": "9", "memory": "1Gi"}, "limits": {"cpu": "9000m", "memory": "33Gi"}}})
	fields == {
		"spec.containers[0].resources.requests.cpu",
		"spec.containers[0].resources.limits.cpu",
		"spec.containers[0].resources.limits.memory",
	} with input as request
	fields == set() with input as object.union(request, {"parameters": {"maximumCPU": 9, "maximumMemory": "64Gi"}})
}
