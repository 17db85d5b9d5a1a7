package library.wildcard_roles_test

import rego.v1

import data.library.shared.testing
import data.library.wildcard_roles

fields := {violation.field | some violation in wildcard_roles.deny}

test_wildcards if {
	fields == {"rules[0].apiGroups", "rules[1].verbs"} with input as testing.object({"kind": "Role", "rules": [
		{"apiGroups": ["*"], "resources": ["pods"], "verbs": ["get"]},
		{"apiGroups": [""], "resources": ["pods"], "verbs": ["*"]},
		{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]},
	]})
}
