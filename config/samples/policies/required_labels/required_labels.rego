# METADATA
# title: Required labels
# description: >-
#   Every Pod carries the labels by which it is billed and its owner is found.
#   Parameters: requiredLabels, a list of label names; team if there is none.
# custom:
#   match:
#     kinds: [{group: "", kind: Pod}]
#     operations: [CREATE, UPDATE]
#     expand: warn
package samples.required_labels

import rego.v1

# METADATA
# title: Pods have the required labels
deny contains violation if {
	some label in required
	not has_label(label)
	violation := {
		"msg": sprintf(
			"Pod %q has no label %q: add it to metadata.labels, or in a workload to spec.template.metadata.labels",
			[input.name, label],
		),
		"field": sprintf("metadata.labels[%q]", [label]),
	}
}

default required := ["team"]

required := input.parameters.requiredLabels

# An empty value does not name an owner.
has_label(label) if input.request.object.metadata.labels[label] != ""
