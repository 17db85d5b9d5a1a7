package library.cluster_admin_bindings_test

import rego.v1

import data.library.cluster_admin_bindings
import data.library.shared.testing

fields := {violation.field | some violation in cluster_admin_bindings.deny}

binding(role, subject) := {
	"kind": "ClusterRoleBinding",
	"roleRef": {"kind": "ClusterRole", "name": role},
	"subjects": [subject],
}

test_subjects_of_cluster_admin if {
	jane := {"kind": "User", "name": "jane"}
	fields == {"subjects[0]"} with input as testing.object(binding("cluster-admin", jane))
	fields == set() with input as testing.object(binding("view", jane))
	masters := {"kind": "Group", "name": "system:masters"}
	fields == set() with input as testing.object(binding("cluster-admin", masters))
}
