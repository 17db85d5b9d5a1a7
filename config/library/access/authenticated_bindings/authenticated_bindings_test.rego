package library.authenticated_bindings_test

import rego.v1

import data.library.authenticated_bindings
import data.library.shared.testing

fields := {violation.field | some violation in authenticated_bindings.deny}

test_groups_of_all_users if {
	fields == {"subjects[0].name", "subjects[1].name"} with input as testing.object({"kind": "RoleBinding", "subjects": [
		{"kind": "Group", "name": "system:authenticated"},
		{"kind": "Group", "name": "system:serviceaccounts"},
		{"kind": "Group", "name": "system:serviceaccounts:shop"},
	]})
}
