package library.secret_access_test

import rego.v1

import data.library.secret_access
import data.library.shared.testing

fields := {violation.field | some violation in secret_access.deny}

rule(resource, verb) := {"apiGroups": [""], "resources": [resource], "verbs": [verb]}

test_each_permission if {
	every resource in ["secrets"] {
		every verb in ["get", "list", "watch"] {
			fields == {"rules[1]"} with input as testing.object({
				"kind": "Role",
				"rules": [rule("services", "get"), rule(resource, verb)],
			})
		}
	}
}

test_a_wildcard if {
	fields == {"rules[0]"} with input as testing.object({
		"kind": "Role",
		"rules": [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}],
	})
}

test_named_secrets if {
	named := object.union(rule("secrets", "get"), {"resourceNames": ["web"]})
	fields == set() with input as testing.object({"kind": "Role", "rules": [named]})
}

test_other_permissions if {
	fields == set() with input as testing.object({
		"kind": "Role",
		"rules": [rule("example", "get"), {"nonResourceURLs": ["/healthz"], "verbs": ["get"]}],
	})
}
