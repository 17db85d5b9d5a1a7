# METADATA
# title: Namespaces must have labels that name their owner
# description: Requires the labels of the parameter namespaceLabels on each Namespace.
# related_resources:
#   - ref: https://kubernetes.io/docs/concepts/security/multi-tenancy/
#     description: Multi-tenancy
# custom:
#   severity: low
#   category: multi-tenancy
#   rationale: >-
#     Without an owner, no person answers for the workloads, the alerts and the costs of
#     a namespace. NetworkPolicies and policies select namespaces by labels.
#   remedy: Add the labels to the Namespace.
#   parameters:
#     namespaceLabels: keys of labels; [team] by default
#   match:
#     kinds: [{group: "", kind: Namespace}]
#     excludedNamespaces: ["kube-*", default]
package library.namespace_labels

import rego.v1

import data.library.shared.objects

# METADATA
# title: Namespaces must have labels that name their owner
deny contains violation if {
	some key in objects.parameter("namespaceLabels", ["team"])
	objects.has_changed(["metadata", "labels", key])
	not has_label(key)
	violation := {
		"msg": sprintf("Namespace %q has no label %v: add it", [input.name, key]),
		"field": sprintf("metadata.labels[%q]", [key]),
	}
}

has_label(key) if objects.text(input.request.object.metadata.labels, key) != ""
