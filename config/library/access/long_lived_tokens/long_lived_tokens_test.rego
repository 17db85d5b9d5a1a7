package library.long_lived_tokens_test

import rego.v1

import data.library.long_lived_tokens
import data.library.shared.testing

fields := {violation.field | some violation in long_lived_tokens.deny}

test_types if {
	fields == {"type"} with input as testing.object({"type": "kubernetes.io/service-account-token"})
	fields == set() with input as testing.object({"type": "Opaque"})
	fields == set() with input as testing.object({})
}
