package library.event_deletion_test

import rego.v1

import data.library.event_deletion
import data.library.shared.testing

fields := {violation.field | some violation in event_deletion.deny}

rule(resource, verb) := {"apiGroups": [""], "resources": [resource], "verbs": [verb]}

test_each_permission if {
	every resource in ["events"] {
		every verb in ["delete", "deletecollection"] {
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
		"rules": [rule("example", "delete"), {"nonResourceURLs": ["/healthz"], "verbs": ["get"]}],
	})
}
