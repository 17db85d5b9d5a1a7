package openzro.adoption_test

import rego.v1

import data.openzro.adoption

annotated(value) := {"request": {"object": {"metadata": {"annotations": {"openzro.io/adopt": value}}}}}

test_values if {
	every value in ["true", "false"] { adoption.deny == set() with input as annotated(value) }
	count(adoption.deny) == 1 with input as annotated("yes")
	adoption.deny == set() with input as {"request": {"object": {"metadata": {}}}}
}
