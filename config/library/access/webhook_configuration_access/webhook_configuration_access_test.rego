package library.webhook_configuration_access_test

import rego.v1

import data.library.shared.testing
import data.library.webhook_configuration_access

fields := {violation.field | some violation in webhook_configuration_access.deny}

rule(resource, verb) := {"apiGroups": ["admissionregistration.k8s.io"], "resources": [resource], "verbs": [verb]}

test_each_permission if {
	every resource in ["validatingwebhookconfigurations", "mutatingwebhookconfigurations"] {
		every verb in ["create", "update", "patch", "delete"] {
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
