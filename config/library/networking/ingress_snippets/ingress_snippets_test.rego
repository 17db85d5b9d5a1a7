package library.ingress_snippets_test

import rego.v1

import data.library.ingress_snippets
import data.library.shared.testing

fields := {violation.field | some violation in ingress_snippets.deny}

test_annotations if {
	count(fields) == 2 with input as testing.object({"metadata": {"annotations": {
		"nginx.ingress.kubernetes.io/server-snippet": "x",
		"nginx.org/location-snippets": "x",
		"nginx.ingress.kubernetes.io/rewrite-target": "/",
	}}})
	fields == set() with input as testing.object({"metadata": {}})
}
