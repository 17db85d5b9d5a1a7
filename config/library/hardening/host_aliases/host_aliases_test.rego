package library.host_aliases_test

import rego.v1

import data.library.host_aliases
import data.library.shared.testing

fields := {violation.field | some violation in host_aliases.deny}

test_aliases if {
	fields == {"spec.hostAliases[0]"} with input as testing.pod({"hostAliases": [{"ip": "10.0.0.1", "hostnames": ["a"]}]})
	fields == set() with input as testing.pod({})
}
