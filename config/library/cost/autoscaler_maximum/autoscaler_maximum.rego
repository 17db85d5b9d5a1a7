# METADATA
# title: Autoscalers must not start too many replicas
# description: >-
#   Denies HorizontalPodAutoscalers with more maxReplicas than the parameter
#   maximumReplicas.
# related_resources:
#   - ref: https://kubernetes.io/docs/tasks/run-application/horizontal-pod-autoscale/
#     description: Horizontal Pod autoscaling
# custom:
#   severity: medium
#   category: cost
#   rationale: >-
#     A load test, an attack or an error of a metric raises the replicas to the maximum,
#     and with them the number of nodes.
#   remedy: Lower spec.maxReplicas. Exempt large workloads with a PolicyException.
#   parameters:
#     maximumReplicas: a number; 20 by default
#   match:
#     kinds: [{group: autoscaling, kind: HorizontalPodAutoscaler}]
package library.autoscaler_maximum

import rego.v1

import data.library.shared.objects

# METADATA
# title: Autoscalers must not start too many replicas
deny contains violation if {
	objects.has_changed(["spec", "maxReplicas"])
	replicas := objects.spec.maxReplicas
	maximum := objects.parameter("maximumReplicas", 20)
	is_number(replicas)
	replicas > maximum
	violation := {
		"msg": sprintf("HorizontalPodAutoscaler %q starts up to %v replicas: at most %v are permitted", [input.name, replicas, maximum]),
		"field": "spec.maxReplicas",
	}
}
