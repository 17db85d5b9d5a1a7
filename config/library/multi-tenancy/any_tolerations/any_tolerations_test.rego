package library.any_tolerations_test

import rego.v1

import data.library.any_tolerations
import data.library.shared.testing

fields := {violation.field | some violation in any_tolerations.deny}

test_tolerations if {
	spec := {"tolerations": [{"operator": "Exists"}, {"key": "gpu", "operator": "Exists"}]}
	fields == {"spec.tolerations[0]"} with input as testing.pod(spec)
	fields == set() with input as object.union(testing.pod(spec), {"request": {"namespace": "kube-system"}})
}
