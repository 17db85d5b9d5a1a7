package samples.required_labels_test

import rego.v1

import data.samples.required_labels

test_a_missing_label_is_named if {
	violations := required_labels.deny with input as pod({"app": "web"})
	violations == {{
		"msg": `Pod "web" has no label "team": add it to metadata.labels, or in a workload to spec.template.metadata.labels`,
		"field": `metadata.labels["team"]`,
	}}
}

test_an_empty_label_is_missing if {
	count(required_labels.deny) == 1 with input as pod({"team": ""})
}

test_missing_fields_lack_the_label if {
	count(required_labels.deny) == 1 with input as pod(null)
	count(required_labels.deny) == 1 with input as {"name": "web", "request": {"object": {}}}
	count(required_labels.deny) == 1 with input as {"name": "web", "request": {"object": null}}
}

test_labelled_pods_are_admitted if {
	required_labels.deny == set() with input as pod({"team": "blue"})
}

test_parameters_replace_the_default if {
	parameters := {"requiredLabels": ["cost-center", "example.com/owner"]}

	violations := required_labels.deny with input as object.union(pod({"team": "blue"}), {"parameters": parameters})
	{violation.field | some violation in violations} == {
		`metadata.labels["cost-center"]`,
		`metadata.labels["example.com/owner"]`,
	}

	labels := {"cost-center": "4711", "example.com/owner": "blue"}
	required_labels.deny == set() with input as object.union(pod(labels), {"parameters": parameters})
}

test_an_empty_list_requires_nothing if {
	required_labels.deny == set() with input as object.union(pod({}), {"parameters": {"requiredLabels": []}})
}

pod(labels) := {"name": "web", "parameters": {}, "request": {
	"kind": {"group": "", "version": "v1", "kind": "Pod"},
	"object": {"metadata": {"name": "web", "labels": labels}},
}}
