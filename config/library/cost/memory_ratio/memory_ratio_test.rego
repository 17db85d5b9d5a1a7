package library.memory_ratio_test

import rego.v1

import data.library.memory_ratio
import data.library.shared.testing

fields := {violation.field | some violation in memory_ratio.deny}

container(request, limit) := testing.container({"resources": {"requests": {"memory": request}, "limits": {"memory": limit}}})

test_ratios if {
	fields == {"spec.containers[0].resources.limits.memory"} with input as container("1Gi", "3Gi")
	fields == set() with input as container("1Gi", "2Gi")
	fields == set() with input as object.union(container("1Gi", "3Gi"), {"parameters": {"memoryRatio": 3}})
}
