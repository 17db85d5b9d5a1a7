package library.job_deadline_test

import rego.v1

import data.library.job_deadline
import data.library.shared.testing

fields := {violation.field | some violation in job_deadline.deny}

test_jobs if {
	fields == {"spec.activeDeadlineSeconds"} with input as testing.object({"kind": "Job", "spec": {"backoffLimit": 6}})
	fields == set() with input as testing.object({"kind": "Job", "spec": {"activeDeadlineSeconds": 60}})
	fields == set() with input as testing.object({"kind": "Job", "spec": {
		"backoffLimit": 0,
		"template": {"spec": {"activeDeadlineSeconds": 60}},
	}})
}

test_cron_jobs if {
	fields == {"spec.jobTemplate.spec.activeDeadlineSeconds"} with input as testing.object({
		"kind": "CronJob",
		"spec": {"jobTemplate": {"spec": {}}},
	})
}
