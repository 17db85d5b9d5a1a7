package library.ephemeral_storage_limits_test

import rego.v1

import data.library.ephemeral_storage_limits
import data.library.shared.testing

fields := {violation.field | some violation in ephemeral_storage_limits.deny}

test_limits if {
	fields == {"spec.containers[0].resources.limits.ephemeral-storage"} with input as testing.container({"resources": {"limits": {"cpu": "1"}}})
	fields == set() with input as testing.container({"resources": {"limits": {"ephemeral-storage": "1Gi"}}})
}
