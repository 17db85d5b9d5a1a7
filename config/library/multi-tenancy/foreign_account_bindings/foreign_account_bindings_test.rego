package library.foreign_account_bindings_test

import rego.v1

import data.library.foreign_account_bindings
import data.library.shared.testing

fields := {violation.field | some violation in foreign_account_bindings.deny}

binding := {"kind": "RoleBinding", "subjects": [
	{"kind": "ServiceAccount", "name": "web", "namespace": "shop"},
	{"kind": "ServiceAccount", "name": "web", "namespace": "other"},
	{"kind": "ServiceAccount", "name": "controller", "namespace": "kube-system"},
	{"kind": "Group", "name": "system:serviceaccounts:other"},
	{"kind": "Group", "name": "system:serviceaccounts:shop"},
	{"kind": "Group", "name": "developers"},
	{"kind": "User", "name": "system:serviceaccount:other:web"},
]}

test_accounts_of_other_namespaces if {
	fields == {"subjects[1]", "subjects[3].name", "subjects[6]"} with input as testing.object(binding)
}

test_shared_namespaces if {
	request := object.union(testing.object(binding), {"parameters": {"sharedNamespaces": ["other"]}})
	fields == {"subjects[2]"} with input as request
}
