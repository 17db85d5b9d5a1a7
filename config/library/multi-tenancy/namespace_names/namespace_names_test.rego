package library.namespace_names_test

import rego.v1

import data.library.namespace_names
import data.library.shared.testing

fields := {violation.field | some violation in namespace_names.deny}

named(name) := object.union(testing.object({"metadata": {}}), {"name": name})

test_names if {
	every name in ["kube-shop", "shop-system"] {
		fields == {"metadata.name"} with input as named(name)
	}
	every name in ["shop", "mykube-shop", "systems"] {
		fields == set() with input as named(name)
	}
	fields == set() with input as object.union(named("kube-system"), {"request": {"userInfo": {"username": "system:apiserver"}}})
}

test_the_parameter if {
	fields == {"metadata.name"} with input as object.union(named("shop"), {"parameters": {"reservedNamespaces": ["sh?p"]}})
}
