# METADATA
# title: Accelerators must be in namespaces that may use them
# description: >-
#   Denies requests and limits of accelerators outside of the namespaces of the
#   parameter acceleratorNamespaces.
# related_resources:
#   - ref: https://kubernetes.io/docs/tasks/manage-gpus/scheduling-gpus/
#     description: Schedule GPUs
# custom:
#   severity: medium
#   category: cost
#   rationale: >-
#     Nodes with accelerators are the most expensive ones, and an autoscaler starts them
#     for each Pod that requests one.
#   remedy: >-
#     Run the workload in a namespace that may use accelerators, or add the namespace to
#     the parameter.
#   parameters:
#     acceleratorNamespaces: names and globs of namespaces; none by default
#     accelerators: >-
#       names and globs of resources; ["*/gpu", "*/gpu.*", "google.com/tpu",
#       "aws.amazon.com/neuron*", "nvidia.com/mig-*"] by default
#   match:
#     kinds: [{group: "", kind: Pod}]
#     expand: warn
package library.accelerators

import rego.v1

import data.library.shared.objects
import data.library.shared.pods

# METADATA
# title: Accelerators must be in namespaces that may use them
deny contains violation if {
	some path, container in pods.resource_containers
	some name, _ in container.resources.limits
	is_accelerator(name)
	not is_permitted
	violation := {
		"msg": sprintf("%v uses %v, which namespace %q may not use", [pods.describe(container), name, input.request.namespace]),
		"field": sprintf("%v.resources.limits[%q]", [path, name]),
	}
}

is_accelerator(name) if {
	some pattern in objects.parameter("accelerators", ["*/gpu", "*/gpu.*", "google.com/tpu", "aws.amazon.com/neuron*", "nvidia.com/mig-*"])
	glob.match(pattern, ["/"], name)
}

is_permitted if {
	some pattern in objects.parameter("acceleratorNamespaces", [])
	glob.match(pattern, null, input.request.namespace)
}
