package openzro.deletion_test

import rego.v1

import data.openzro.deletion

annotated(policy) := {"request": {"object": {"metadata": {"annotations": {"openzro.io/deletion-policy": policy}}}}}

test_policies if {
	every policy in ["Delete", "Retain"] { deletion.deny == set() with input as annotated(policy) }
	count(deletion.deny) == 1 with input as annotated("retain")
	deletion.deny == set() with input as {"request": {"object": {"metadata": {}}}}
}
