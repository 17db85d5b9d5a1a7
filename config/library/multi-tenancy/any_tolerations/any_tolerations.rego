# METADATA
# title: Pods must not tolerate all taints
# description: Denies tolerations without a key outside of the namespace kube-system.
# related_resources:
#   - ref: https://kubernetes.io/docs/concepts/scheduling-eviction/taint-and-toleration/
#     description: Taints and tolerations
# custom:
#   severity: medium
#   category: multi-tenancy
#   rationale: >-
#     A Pod that tolerates all taints runs on nodes of other tenants, of the control
#     plane and on nodes that are being drained.
#   remedy: Write the key of each taint.
#   match:
#     kinds: [{group: "", kind: Pod}]
#     expand: warn
package library.any_tolerations

import rego.v1

import data.library.shared.objects
import data.library.shared.pods

# METADATA
# title: Pods must not tolerate all taints
deny contains violation if {
	some i, toleration in pods.spec.tolerations
	is_object(toleration)
	objects.text(toleration, "key") == ""
	not input.request.namespace == "kube-system"
	violation := {
		"msg": sprintf("Pod %q tolerates all taints: write the key of each taint", [input.name]),
		"field": sprintf("spec.tolerations[%d]", [i]),
	}
}
