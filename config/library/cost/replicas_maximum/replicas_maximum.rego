# METADATA
# title: Workloads must not have too many replicas
# description: >-
#   Denies more replicas than the parameter maximumReplicas in Deployments,
#   StatefulSets, ReplicaSets and ReplicationControllers, also by the subresource scale.
# related_resources:
#   - ref: https://kubernetes.io/docs/concepts/workloads/controllers/deployment/
#     description: Deployments
# custom:
#   severity: medium
#   category: cost
#   rationale: >-
#     A mistake in the number of replicas can make an autoscaler start many nodes.
#   remedy: Lower spec.replicas. Exempt large workloads with a PolicyException.
#   parameters:
#     maximumReplicas: a number; 20 by default
#   match:
#     kinds:
#       - {group: apps, kind: Deployment}
#       - {group: apps, kind: StatefulSet}
#       - {group: apps, kind: ReplicaSet}
#       - {group: "", kind: ReplicationController}
#     subresources: [scale]
package library.replicas_maximum

import rego.v1

import data.library.shared.objects

# METADATA
# title: Workloads must not have too many replicas
deny contains violation if {
	objects.has_changed(["spec", "replicas"])
	replicas := objects.spec.replicas
	maximum := objects.parameter("maximumReplicas", 20)
	is_number(replicas)
	replicas > maximum
	violation := {
		"msg": sprintf("%v %q has %v replicas: at most %v are permitted", [input.request.object.kind, input.name, replicas, maximum]),
		"field": "spec.replicas",
	}
}
