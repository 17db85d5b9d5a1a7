package library.default_service_account_test

import rego.v1

import data.library.default_service_account
import data.library.shared.testing

fields := {violation.field | some violation in default_service_account.deny}

test_the_default_account if {
	every spec in [{}, {"serviceAccountName": ""}, {"serviceAccountName": "default", "automountServiceAccountToken": true}] {
		fields == {"spec.serviceAccountName"} with input as testing.pod(spec)
	}
	every spec in [{"serviceAccountName": "web"}, {"automountServiceAccountToken": false}] {
		fields == set() with input as testing.pod(spec)
	}
}
