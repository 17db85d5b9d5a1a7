package library.default_account_bindings_test

import rego.v1

import data.library.default_account_bindings
import data.library.shared.testing

fields := {violation.field | some violation in default_account_bindings.deny}

test_default_accounts if {
	fields == {"subjects[0].name", "subjects[3].name"} with input as testing.object({"kind": "RoleBinding", "subjects": [
		{"kind": "ServiceAccount", "name": "default", "namespace": "shop"},
		{"kind": "ServiceAccount", "name": "web", "namespace": "shop"},
		{"kind": "User", "name": "default"},
		{"kind": "User", "name": "system:serviceaccount:shop:default"},
	]})
}
