package controlled.names_test

import rego.v1

import data.controlled.names

creation(user, claimants) := {
	"name": "prod-gateway-policies",
	"request": {"operation": "CREATE", "namespace": "a", "kind": {"kind": "ConfigMap"}, "userInfo": {"username": user}},
	"facts": {"users": ["manager"], "claimants": claimants},
}

claimant := {"group": "openclaw.enterprise.io", "kind": "OpenClawInstance", "namespace": "a", "name": "prod"}

test_names if {
	names.deny == {{"field": "metadata.name", "msg": "metadata.name: Lintel creates ConfigMap a/prod-gateway-policies for OpenClawInstance prod; choose another name"}} with input as creation("tenant", [claimant])
	names.deny == set() with input as creation("tenant", [])
	names.deny == set() with input as creation("manager", [claimant])
}
