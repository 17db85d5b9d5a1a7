package library.mounted_tokens_test

import rego.v1

import data.library.mounted_tokens
import data.library.shared.testing

fields := {violation.field | some violation in mounted_tokens.deny}

test_tokens if {
	fields == {"spec.automountServiceAccountToken"} with input as testing.pod({})
	fields == {"spec.automountServiceAccountToken"} with input as testing.pod({"automountServiceAccountToken": true})
	fields == set() with input as testing.pod({"automountServiceAccountToken": false})
}
