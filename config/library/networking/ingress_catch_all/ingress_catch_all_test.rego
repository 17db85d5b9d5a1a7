package library.ingress_catch_all_test

import rego.v1

import data.library.ingress_catch_all
import data.library.shared.testing

fields := {violation.field | some violation in ingress_catch_all.deny}

test_hosts if {
	fields == {"spec.rules[1].host", "spec.rules[2].host", "spec.defaultBackend"} with input as testing.object({"spec": {
		"rules": [{"host": "a.example.com"}, {"host": "*.example.com"}, {}],
		"defaultBackend": {},
	}})
}
