package library.shared.roles_test

import rego.v1

import data.library.shared.roles
import data.library.shared.testing

role := {"kind": "Role", "rules": [{"verbs": ["get"]}], "subjects": [{"name": "jane"}]}

test_rules_and_subjects if {
	roles.rules == {0: {"verbs": ["get"]}} with input as testing.object(role)
	roles.subjects == {0: {"name": "jane"}} with input as testing.object(role)
	roles.describe == `Role "web"` with input as testing.object(role)
}

test_accounts if {
	roles.account({"kind": "ServiceAccount", "namespace": "shop", "name": "web"}) == ["shop", "web"]
	roles.account({"kind": "User", "name": "system:serviceaccount:shop:web"}) == ["shop", "web"]
	not roles.account({"kind": "User", "name": "jane"})
	not roles.account({"kind": "Group", "name": "system:serviceaccount:shop:web"})
}

test_the_control_plane if {
	every user in ["system:apiserver", "system:serviceaccount:kube-system:clusterrole-aggregation-controller"] {
		request := object.union(testing.object(role), {"request": {"userInfo": {"username": user}}})
		roles.rules == {} with input as request
		roles.subjects == {} with input as request
	}
}

test_permissions if {
	rule := {"apiGroups": [""], "resources": ["pods", "*/exec"], "verbs": ["get", "create"]}
	roles.permits(rule, "", {"pods"}, {"create"})
	roles.permits(rule, "", {"pods/exec"}, {"create"})
	not roles.permits(rule, "apps", {"pods"}, {"create"})
	not roles.permits(rule, "", {"secrets", "pods/log"}, {"create"})
	not roles.permits(rule, "", {"pods"}, {"delete"})
	roles.permits({"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}, "", {"pods"}, {"delete"})
}
