# METADATA
# title: Pods must not have the priority of system components
# description: >-
#   Denies the PriorityClasses system-cluster-critical and system-node-critical outside
#   of the namespace kube-system.
# related_resources:
#   - ref: https://kubernetes.io/docs/tasks/administer-cluster/guaranteed-scheduling-critical-addon-pods/
#     description: Guaranteed scheduling for critical add-on Pods
# custom:
#   severity: high
#   category: multi-tenancy
#   rationale: >-
#     Pods with these classes evict Pods of other tenants, and are never evicted
#     themselves.
#   remedy: Use a PriorityClass for workloads, or none.
#   parameters:
#     priorityNamespaces: >-
#       namespaces that may use these classes; [kube-system] by default
#   match:
#     kinds: [{group: "", kind: Pod}]
#     expand: warn
package library.system_priority

import rego.v1

import data.library.shared.objects
import data.library.shared.pods

# METADATA
# title: Pods must not have the priority of system components
deny contains violation if {
	class := pods.spec.priorityClassName
	class in {"system-cluster-critical", "system-node-critical"}
	not input.request.namespace in objects.parameter("priorityNamespaces", ["kube-system"])
	violation := {
		"msg": sprintf("Pod %q has the priority of system components: remove spec.priorityClassName, which is %v", [input.name, class]),
		"field": "spec.priorityClassName",
	}
}
