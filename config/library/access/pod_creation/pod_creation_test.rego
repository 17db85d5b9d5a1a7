package library.pod_creation_test

import rego.v1

import data.library.pod_creation
import data.library.shared.testing

fields := {violation.field | some violation in pod_creation.deny}

rule(resource, verb) := {"apiGroups": [""], "resources": [resource], "verbs": [verb]}

test_each_permission if {
	every resource in ["pods"] {
		every verb in ["create"] {
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

test_other_permissions if {
	fields == set() with input as testing.object({
		"kind": "Role",
		"rules": [rule("example", "create"), {"nonResourceURLs": ["/healthz"], "verbs": ["get"]}],
	})
}
