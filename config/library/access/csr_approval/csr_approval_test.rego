package library.csr_approval_test

import rego.v1

import data.library.csr_approval
import data.library.shared.testing

fields := {violation.field | some violation in csr_approval.deny}

rule(resource, verb) := {"apiGroups": ["certificates.k8s.io"], "resources": [resource], "verbs": [verb]}

test_each_permission if {
	every resource in ["certificatesigningrequests/approval"] {
		every verb in ["update", "patch"] {
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
		"rules": [rule("example", "update"), {"nonResourceURLs": ["/healthz"], "verbs": ["get"]}],
	})
}
