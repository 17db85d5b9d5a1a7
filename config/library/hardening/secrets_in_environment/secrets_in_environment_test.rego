package library.secrets_in_environment_test

import rego.v1

import data.library.secrets_in_environment
import data.library.shared.testing

fields := {violation.field | some violation in secrets_in_environment.deny}

test_variables if {
	fields == {
		"spec.containers[0].env[1].valueFrom.secretKeyRef",
		"spec.containers[0].envFrom[0].secretRef",
	} with input as testing.container({
		"env": [{"name": "A", "value": "a"}, {"name": "B", "valueFrom": {"secretKeyRef": {"name": "b", "key": "b"}}}],
		"envFrom": [{"secretRef": {"name": "c"}}, {"configMapRef": {"name": "d"}}],
	})
}
