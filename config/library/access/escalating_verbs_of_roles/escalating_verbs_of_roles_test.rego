package library.escalating_verbs_of_roles_test

import rego.v1

import data.library.escalating_verbs_of_roles
import data.library.shared.testing

fields := {violation.field | some violation in escalating_verbs_of_roles.deny}

rule(resource, verb) := {"apiGroups": ["rbac.authorization.k8s.io"], "resources": [resource], "verbs": [verb]}

test_each_permission if {
	every resource in ["roles", "clusterroles"] {
		every verb in ["escalate", "bind"] {
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
		"rules": [rule("example", "escalate"), {"nonResourceURLs": ["/healthz"], "verbs": ["get"]}],
	})
}
