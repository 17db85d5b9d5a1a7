package exceptions.policyexception_test

import data.exceptions.policyexception
import rego.v1

spec := {
	"source": "team",
	"policy": "team.labels",
	"match": {"namespaces": ["shop"]},
	"reason": "the migration of the shop",
	"expiresAt": "2026-12-04T17:00:00Z",
}

facts := {
	"permitted": true,
	"scope": "team payments",
	"scopes": ["enterprise", "team-payments"],
	"problems": [],
	"expired": false,
	"warning": "",
}

creation := {
	"request": {
		"operation": "CREATE",
		"userInfo": {"username": "alice"},
		"object": {"spec": spec},
	},
	"facts": facts,
}

with_facts(changes) := object.union(creation, {"facts": changes})

test_allows_a_valid_exception if {
	count(policyexception.deny) == 0 with input as creation
	count(policyexception.warn) == 0 with input as creation
}

test_denies_a_user_without_permission if {
	policyexception.deny == {`spec.scope: Forbidden: user "alice" may not make exceptions from the rules of team payments; that takes the verb except on policyscopes.policy.lintel.dev named enterprise or team-payments`} with input as with_facts({"permitted": false})
}

test_denies_if_the_permission_is_not_known if {
	count(policyexception.deny) == 1 with input as json.remove(creation, ["/facts/permitted"])
}

test_denies_each_problem if {
	problems := [{"reason": "PolicyNotFound", "message": "a"}, {"reason": "OutsideScope", "message": "b"}]
	policyexception.deny == {"a", "b"} with input as with_facts({"problems": problems})
}

test_denies_an_exception_that_has_expired if {
	policyexception.deny == {`spec.expiresAt: Invalid value "2026-12-04T17:00:00Z": must be in the future`} with input as with_facts({"expired": true})
}

test_denies_a_blank_reason if {
	count(policyexception.deny) == 1 with input as object.union(creation, {"request": {"object": {"spec": {"reason": "            "}}}})
}

test_warns if {
	policyexception.warn == {"careful"} with input as with_facts({"warning": "careful"})
}

update(old_spec) := object.union(
	with_facts({"permitted": false, "expired": true, "problems": [{"reason": "NotPermitted", "message": "a"}]}),
	{"request": {"operation": "UPDATE", "oldObject": {"spec": old_spec}}},
)

test_allows_updates_of_metadata if {
	count(policyexception.deny) == 0 with input as update(spec)
}

test_evaluates_updates_of_the_spec if {
	count(policyexception.deny) == 3 with input as update(object.union(spec, {"expiresAt": "2026-12-01T17:00:00Z"}))
}
