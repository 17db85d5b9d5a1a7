package library.accelerators_test

import rego.v1

import data.library.accelerators
import data.library.shared.testing

fields := {violation.field | some violation in accelerators.deny}

container(name) := testing.container({"resources": {"limits": {name: 1}}})

test_resources if {
	every name in ["nvidia.com/gpu", "amd.com/gpu", "google.com/tpu", "nvidia.com/mig-1g.5gb"] {
		count(fields) == 1 with input as container(name)
	}
	every name in ["cpu", "memory", "example.com/gpus"] {
		fields == set() with input as container(name)
	}
	fields == set() with input as object.union(container("nvidia.com/gpu"), {"parameters": {"acceleratorNamespaces": ["sh*"]}})
}
