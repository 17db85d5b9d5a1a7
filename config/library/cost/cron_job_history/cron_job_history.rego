# METADATA
# title: CronJobs must keep few Jobs and must not overlap
# description: >-
#   Denies a history of more Jobs than the parameter maximumHistory, and the concurrency
#   policy Allow.
# related_resources:
#   - ref: https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/
#     description: CronJob
# custom:
#   severity: low
#   category: cost
#   rationale: >-
#     Jobs that overlap because they are slow use more and more resources. Each kept Job
#     keeps its Pods.
#   remedy: >-
#     Lower the limits of the history, and set spec.concurrencyPolicy to Forbid or
#     Replace.
#   parameters:
#     maximumHistory: a number for each of the two limits; 5 by default
#   match:
#     kinds: [{group: batch, kind: CronJob}]
package library.cron_job_history

import rego.v1

import data.library.shared.objects

# METADATA
# title: CronJobs must keep few Jobs
deny contains violation if {
	some field in ["successfulJobsHistoryLimit", "failedJobsHistoryLimit"]
	objects.has_changed(["spec", field])
	limit := objects.spec[field]
	is_number(limit)
	limit > objects.parameter("maximumHistory", 5)
	violation := {
		"msg": sprintf("CronJob %q keeps %v Jobs: lower spec.%v", [input.name, limit, field]),
		"field": sprintf("spec.%v", [field]),
	}
}

# METADATA
# title: Jobs of CronJobs must not overlap
deny contains violation if {
	objects.has_changed(["spec", "concurrencyPolicy"])
	policy := objects.text(objects.spec, "concurrencyPolicy")
	policy in {"", "Allow"}
	violation := {
		"msg": sprintf("Jobs of CronJob %q can overlap: set spec.concurrencyPolicy to Forbid or Replace", [input.name]),
		"field": "spec.concurrencyPolicy",
	}
}
