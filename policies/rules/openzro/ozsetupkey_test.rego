package openzro.ozsetupkey_test

import rego.v1

import data.openzro.ozsetupkey

about(spec) := {"name": "key", "request": {"object": {"spec": spec}}, "facts": {}}

fields(spec) := {d.field | some d in problems} if {
	problems := ozsetupkey.deny with input as about(spec)
}

test_good_keys if {
	fields({}) == set()
	fields({"secretKeyRef": {"name": "a", "key": "b"}, "managementURL": "https://openzro.example.com"}) == set()
	fields({"autoGroups": ["g"], "type": "one-off", "usageLimit": 1, "managementURL": "", "expiresIn": ""}) == set()
	every text in ["30d", "1h30m", "106751d", "0030d", "1s"] { fields({"expiresIn": text}) == set() }
}

test_bad_keys if {
	fields({"secretKeyRef": {"name": "", "key": "b"}}) == {"spec.secretKeyRef.name"}
	fields({"secretKeyRef": {"name": "a"}}) == {"spec.secretKeyRef.key"}
	fields({"secretKeyRef": {"name": "openzro-mgmt-api-key", "key": "managementURL"}}) == {"spec.secretKeyRef.name"}
	fields({"secretKeyRef": {"name": "A", "key": "b"}}) == {"spec.secretKeyRef.name"}
	fields({"secretKeyRef": {"name": "a", "key": "b/c"}}) == {"spec.secretKeyRef.key"}
	fields({"managementURL": "openzro.example.com"}) == {"spec.managementURL"}
	fields({"autoGroups": ["g", "g"]}) == {"spec.autoGroups[1]"}
	fields({"autoGroupIDs": ["a", "a", " "]}) == {"spec.autoGroupIDs[1]", "spec.autoGroupIDs[2]"}
	fields({"autoGroups": ["All"]}) == {"spec.autoGroups[0]"}
	fields({"usageLimit": -1}) == {"spec.usageLimit"}
	fields({"usageLimit": 2, "type": "one-off"}) == {"spec.usageLimit"}
	every text in ["30", "1w", "d", "1.5h", "-1h", "0s", "0d0h", "106752d", "999999999999d"] {
		fields({"expiresIn": text}) == {"spec.expiresIn"}
	}
}

test_names if {
	problems := ozsetupkey.deny with input as object.union(about({}), {"facts": {"taken": {"kind": "OZSetupKey", "name": "other"}}})
	problems == {{
		"field": "spec.name",
		"msg": `spec.name: OZSetupKey other of this namespace has the name "key" at the server; give this one another name, or delete that one`,
	}}
}
