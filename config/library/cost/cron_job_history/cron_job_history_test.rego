package library.cron_job_history_test

import rego.v1

import data.library.cron_job_history
import data.library.shared.testing

fields := {violation.field | some violation in cron_job_history.deny}

test_histories if {
	spec := {"concurrencyPolicy": "Forbid", "successfulJobsHistoryLimit": 6, "failedJobsHistoryLimit": 1}
	fields == {"spec.successfulJobsHistoryLimit"} with input as testing.object({"spec": spec})
	fields == set() with input as object.union(testing.object({"spec": spec}), {"parameters": {"maximumHistory": 6}})
}

test_overlaps if {
	fields == {"spec.concurrencyPolicy"} with input as testing.object({"spec": {}})
	fields == {"spec.concurrencyPolicy"} with input as testing.object({"spec": {"concurrencyPolicy": "Allow"}})
}
