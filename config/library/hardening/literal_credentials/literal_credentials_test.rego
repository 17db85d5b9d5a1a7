package library.literal_credentials_test

import rego.v1

import data.library.literal_credentials
import data.library.shared.testing

fields := {violation.field | some violation in literal_credentials.deny}

denies(name, value) if {
	fields == {"spec.containers[0].env[0].value"} with input as testing.container({"env": [{"name": name, "value": value}]})
}

test_names if {
	denies("PASSWORD", "x")
	denies("db_password", "x")
	denies("AWS_SECRET_ACCESS_KEY", "x")
	not denies("PASSWORD", "")
	not denies("PASSWORD_FILE", "/etc/password")
	not denies("TOKENS", "3")
}

test_values_of_secrets if {
	fields == set() with input as testing.container({"env": [{"name": "PASSWORD", "valueFrom": {"secretKeyRef": {"name": "a", "key": "b"}}}]})
}
