package library.masters_bindings_test

import rego.v1

import data.library.masters_bindings
import data.library.shared.testing

fields := {violation.field | some violation in masters_bindings.deny}

test_the_group if {
	fields == {"subjects[1].name"} with input as testing.object({"kind": "RoleBinding", "subjects": [
		{"kind": "User", "name": "system:masters"},
		{"kind": "Group", "name": "system:masters"},
		{"kind": "Group", "name": "admins"},
	]})
}
