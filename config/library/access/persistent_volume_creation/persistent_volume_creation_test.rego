package library.persistent_volume_creation_test

import rego.v1

import data.library.persistent_volume_creation
import data.library.shared.testing

fields := {violation.field | some violation in persistent_volume_creation.deny}

rule(resource, verb) := {"apiGroups": [""], "resources": [resource], "verbs": [verb]}

test_each_permission if {
	every resource in ["persistentvolumes"] {
		every verb in ["create"] {
			fields == {"rules[1]"} with input as testing.object({
				"kind": "ClusterRole",
				"rules": [rule("services", "get"), rule(resource, verb)],
			})
		}
	}
}

test_a_wildcard if {
	fields == {"rules[0]"} with input as testing.object({
		"kind": "ClusterRole",
		"rules": [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}],
	})
}

test_other_permissions if {
	fields == set() with input as testing.object({
		"kind": "ClusterRole",
		"rules": [rule("example", "create"), {"nonResourceURLs": ["/healthz"], "verbs": ["get"]}],
	})
}
