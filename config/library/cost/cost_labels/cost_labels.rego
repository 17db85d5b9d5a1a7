# METADATA
# title: Workloads must have labels for the allocation of costs
# description: >-
#   Requires the labels of the parameter costLabels on Pods and in the Pod templates of
#   workloads.
# related_resources:
#   - ref: https://kubernetes.io/docs/concepts/overview/working-with-objects/common-labels/
#     description: Recommended labels
# custom:
#   severity: low
#   category: cost
#   rationale: >-
#     Reports of costs group Pods by labels. Pods without them are costs that no team
#     sees.
#   remedy: Add the labels to the Pod template.
#   parameters:
#     costLabels: keys of labels; [cost-center] by default
#   match:
#     kinds: [{group: "", kind: Pod}]
#     expand: warn
package library.cost_labels

import rego.v1

import data.library.shared.objects

# METADATA
# title: Workloads must have labels for the allocation of costs
deny contains violation if {
	some key in objects.parameter("costLabels", ["cost-center"])
	objects.has_changed(["metadata", "labels", key])
	objects.text(object.get(input.request.object, ["metadata", "labels"], {}), key) == ""
	violation := {
		"msg": sprintf("Pod %q has no label %v: add it", [input.name, key]),
		"field": sprintf("metadata.labels[%q]", [key]),
	}
}
