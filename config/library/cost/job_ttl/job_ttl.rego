# METADATA
# title: Jobs must be deleted after they finish
# description: Requires ttlSecondsAfterFinished on Jobs that no other object owns.
# related_resources:
#   - ref: https://kubernetes.io/docs/concepts/workloads/controllers/ttlafterfinished/
#     description: Automatic cleanup for finished Jobs
# custom:
#   severity: low
#   category: cost
#   rationale: >-
#     Finished Jobs and their Pods stay until they are deleted. They fill etcd, and
#     their logs fill the nodes.
#   remedy: Set spec.ttlSecondsAfterFinished.
#   match:
#     kinds: [{group: batch, kind: Job}]
package library.job_ttl

import rego.v1

import data.library.shared.objects

# METADATA
# title: Jobs must be deleted after they finish
deny contains violation if {
	objects.has_changed(["spec", "ttlSecondsAfterFinished"])
	not is_number(object.get(objects.spec, "ttlSecondsAfterFinished", null))
	not is_owned
	violation := {
		"msg": sprintf("Job %q stays after it finishes: set spec.ttlSecondsAfterFinished", [input.name]),
		"field": "spec.ttlSecondsAfterFinished",
	}
}

# A CronJob deletes its Jobs.
is_owned if {
	some owner in input.request.object.metadata.ownerReferences
	owner.controller == true
}
