package library.job_ttl_test

import rego.v1

import data.library.job_ttl
import data.library.shared.testing

fields := {violation.field | some violation in job_ttl.deny}

test_jobs if {
	fields == {"spec.ttlSecondsAfterFinished"} with input as testing.object({"spec": {}})
	fields == set() with input as testing.object({"spec": {"ttlSecondsAfterFinished": 0}})
	fields == set() with input as testing.object({"metadata": {"ownerReferences": [{"controller": true}]}, "spec": {}})
}
