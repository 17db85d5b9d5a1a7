# METADATA
# title: Deployments must keep few revisions
# description: >-
#   Denies a revisionHistoryLimit above the parameter maximumRevisions in Deployments,
#   StatefulSets and DaemonSets.
# related_resources:
#   - ref: https://kubernetes.io/docs/concepts/workloads/controllers/deployment/#clean-up-policy
#     description: Deployments
# custom:
#   severity: info
#   category: cost
#   rationale: >-
#     Each revision is an object that fills etcd and the caches of controllers.
#   remedy: Lower spec.revisionHistoryLimit.
#   parameters:
#     maximumRevisions: a number; 10, which is the default of Kubernetes, by default
#   match:
#     kinds:
#       - {group: apps, kind: Deployment}
#       - {group: apps, kind: StatefulSet}
#       - {group: apps, kind: DaemonSet}
package library.revision_history

import rego.v1

import data.library.shared.objects

# METADATA
# title: Deployments must keep few revisions
deny contains violation if {
	objects.has_changed(["spec", "revisionHistoryLimit"])
	limit := objects.spec.revisionHistoryLimit
	is_number(limit)
	limit > objects.parameter("maximumRevisions", 10)
	violation := {
		"msg": sprintf("%v %q keeps %v revisions: lower spec.revisionHistoryLimit", [input.request.object.kind, input.name, limit]),
		"field": "spec.revisionHistoryLimit",
	}
}
