package library.cost_labels_test

import rego.v1

import data.library.cost_labels
import data.library.shared.testing

fields := {violation.field | some violation in cost_labels.deny}

test_labels if {
	fields == {`metadata.labels["cost-center"]`} with input as testing.pod({})
	fields == set() with input as testing.object({"metadata": {"labels": {"cost-center": "1"}}})
	fields == {`metadata.labels["team"]`} with input as object.union(testing.pod({}), {"parameters": {"costLabels": ["team"]}})
}
