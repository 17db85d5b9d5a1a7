# METADATA
# title: Pods must not run on nodes of the control plane
# description: >-
#   Denies tolerations and node selectors for the taints and labels of the control plane
#   outside of the namespace kube-system.
# related_resources:
#   - ref: https://kubernetes.io/docs/concepts/scheduling-eviction/taint-and-toleration/
#     description: Taints and tolerations
# custom:
#   severity: high
#   category: multi-tenancy
#   rationale: >-
#     A Pod on a node of the control plane is next to the keys of the cluster, to etcd
#     and to the API server.
#   remedy: Remove the toleration and the selector.
#   match:
#     kinds: [{group: "", kind: Pod}]
#     expand: warn
package library.control_plane_tolerations

import rego.v1

import data.library.shared.pods

# METADATA
# title: No tolerations of taints of the control plane
deny contains violation if {
	some i, toleration in pods.spec.tolerations
	toleration.key in keys
	not input.request.namespace == "kube-system"
	violation := {
		"msg": sprintf("Pod %q tolerates nodes of the control plane: remove the toleration of %v", [input.name, toleration.key]),
		"field": sprintf("spec.tolerations[%d]", [i]),
	}
}

# METADATA
# title: No selectors of nodes of the control plane
deny contains violation if {
	some key, _ in pods.spec.nodeSelector
	key in keys
	not input.request.namespace == "kube-system"
	violation := {
		"msg": sprintf("Pod %q selects nodes of the control plane: remove %v from spec.nodeSelector", [input.name, key]),
		"field": sprintf("spec.nodeSelector[%q]", [key]),
	}
}

keys := {"node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/master"}
