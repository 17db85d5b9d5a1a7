package library.anonymous_bindings_test

import rego.v1

import data.library.anonymous_bindings
import data.library.shared.testing

fields := {violation.field | some violation in anonymous_bindings.deny}

test_anonymous_subjects if {
	fields == {"subjects[0].name", "subjects[1].name"} with input as testing.object({"kind": "RoleBinding", "subjects": [
		{"kind": "User", "name": "system:anonymous"},
		{"kind": "Group", "name": "system:unauthenticated"},
		{"kind": "User", "name": "jane"},
	]})
}
