package library.namespace_labels_test

import rego.v1

import data.library.namespace_labels
import data.library.shared.testing

fields := {violation.field | some violation in namespace_labels.deny}

test_labels if {
	fields == {`metadata.labels["team"]`} with input as testing.object({"metadata": {"labels": {"team": ""}}})
	fields == {`metadata.labels["team"]`} with input as testing.object({"metadata": {}})
	fields == set() with input as testing.object({"metadata": {"labels": {"team": "shop"}}})
}

test_the_parameter if {
	request := object.union(testing.object({"metadata": {"labels": {"team": "shop"}}}), {"parameters": {"namespaceLabels": ["owner"]}})
	fields == {`metadata.labels["owner"]`} with input as request
}
