# METADATA
# title: Jobs must have a deadline
# description: Requires activeDeadlineSeconds on Jobs and on the template of CronJobs.
# related_resources:
#   - ref: https://kubernetes.io/docs/concepts/workloads/controllers/job/#job-termination-and-cleanup
#     description: Jobs
# custom:
#   severity: low
#   category: cost
#   rationale: A Job that hangs uses its resources until someone notices.
#   remedy: Set spec.activeDeadlineSeconds of the Job.
#   match:
#     kinds: [{group: batch, kind: Job}, {group: batch, kind: CronJob}]
package library.job_deadline

import rego.v1

import data.library.shared.objects

# METADATA
# title: Jobs must have a deadline
deny contains violation if {
	some path, job in jobs
	is_object(job)
	objects.has_changed(array.concat(split(path, "."), ["activeDeadlineSeconds"]))
	not is_number(object.get(job, "activeDeadlineSeconds", null))
	not has_deadline(job)
	violation := {
		"msg": sprintf("%v %q has no deadline: set %v.activeDeadlineSeconds", [input.request.object.kind, input.name, path]),
		"field": sprintf("%v.activeDeadlineSeconds", [path]),
	}
}

jobs["spec"] := objects.spec if input.request.object.kind == "Job"

jobs["spec.jobTemplate.spec"] := objects.spec.jobTemplate.spec if input.request.object.kind == "CronJob"

# The deadline of the Pod limits each attempt.
has_deadline(job) if {
	is_number(job.template.spec.activeDeadlineSeconds)
	job.backoffLimit == 0
}
