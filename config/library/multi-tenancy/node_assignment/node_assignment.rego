# METADATA
# title: Pods must not choose their node
# description: >-
#   Denies new Pods with spec.nodeName, except those of the namespace kube-system.
# related_resources:
#   - ref: https://kubernetes.io/docs/concepts/scheduling-eviction/assign-pod-node/#nodename
#     description: Assigning Pods to nodes
# custom:
#   severity: medium
#   category: multi-tenancy
#   rationale: >-
#     A Pod with nodeName skips the scheduler, and with that taints, resources and
#     constraints that keep tenants apart.
#   remedy: Remove spec.nodeName, and use a nodeSelector.
#   match:
#     kinds: [{group: "", kind: Pod}]
#     expand: warn
package library.node_assignment

import rego.v1

import data.library.shared.objects
import data.library.shared.pods

# METADATA
# title: Pods must not choose their node
deny contains violation if {
	objects.has_changed(["spec", "nodeName"])
	node := objects.text(pods.spec, "nodeName")
	node != ""
	not is_mirror
	not input.request.namespace == "kube-system"
	violation := {
		"msg": sprintf("Pod %q chooses node %q: remove spec.nodeName", [input.name, node]),
		"field": "spec.nodeName",
	}
}

# A kubelet creates Pods that mirror its static Pods. NodeRestriction limits them to its own node.
is_mirror if {
	input.request.object.metadata.annotations["kubernetes.io/config.mirror"]
	"system:nodes" in input.request.userInfo.groups
}
