package library.ingress_tls_test

import rego.v1

import data.library.ingress_tls
import data.library.shared.testing

fields := {violation.field | some violation in ingress_tls.deny}

denied(tls, host) := found if {
	found := fields with input as testing.object({"spec": {"rules": [{"host": host}], "tls": tls}})
}

test_hosts if {
	denied([], "a.example.com") == {"spec.rules[0].host"}
	denied([{"hosts": ["b.example.com"]}], "a.example.com") == {"spec.rules[0].host"}
	denied([{"hosts": ["*.example.com"]}], "a.b.example.com") == {"spec.rules[0].host"}
	denied([{"hosts": ["a.example.com"]}], "a.example.com") == set()
	denied([{"hosts": ["*.example.com"]}], "a.example.com") == set()
	denied([{"secretName": "a"}], "a.example.com") == set()
}

test_default_backends if {
	fields == {"spec.defaultBackend"} with input as testing.object({"spec": {"defaultBackend": {}}})
	fields == set() with input as testing.object({"spec": {"defaultBackend": {}, "tls": [{"secretName": "a"}]}})
}
