package library.node_proxy_test

import rego.v1

import data.library.node_proxy
import data.library.shared.testing

fields := {violation.field | some violation in node_proxy.deny}

rule(resource, verb) := {"apiGroups": [""], "resources": [resource], "verbs": [verb]}

test_each_permission if {
	every resource in ["nodes/proxy"] {
		every verb in ["get", "create"] {
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
		"rules": [rule("example", "get"), {"nonResourceURLs": ["/healthz"], "verbs": ["get"]}],
	})
}
