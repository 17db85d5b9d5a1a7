package openzro.ozsidecarprofile_test

import rego.v1

import data.openzro.ozsidecarprofile as profile

about(spec) := {"request": {"namespace": "shop", "object": {"spec": object.union({"setupKeyRef": {"name": "ci"}}, spec)}}, "facts": {"sidecarProfiles": true, "podTemplates": false}}

fields(spec) := {d.field | some d in problems} if {
	problems := profile.deny with input as about(spec)
}

granted(spec) := {d.field | some d in problems} if {
	problems := profile.deny with input as object.union(about(spec), {"facts": {"podTemplates": true}})
}

selected := {"podSelector": {"matchLabels": {"app": "web"}}}

test_profiles if {
	fields(selected) == set()
	profile.warn == set() with input as about(selected)
	count(profile.warn) == 1 with input as about({"podSelector": {}})
	fields({"setupKeyRef": {"name": " "}}) == {"spec.setupKeyRef.name"}
	fields({"extraDNSLabels": ["web.eu", "a b"]}) == {"spec.extraDNSLabels[1]"}
}

test_a_namespace_without_a_grant if {
	problems := profile.deny with input as object.union(about(selected), {"facts": {"sidecarProfiles": false}})
	{p.field | some p in problems} == {"metadata.namespace"}
	some problem in problems
	contains(problem.msg, "--openzro-sidecar-profiles=shop")
}

test_selectors if {
	expressions := [
		{"key": "a", "operator": "In", "values": ["b"]}, {"key": "a", "operator": "Exists"},
		{"key": "a", "operator": "NotIn"}, {"key": "a", "operator": "DoesNotExist", "values": ["b"]}, {"key": "a", "operator": "in"},
	]
	fields({"podSelector": {"matchExpressions": expressions}}) == {sprintf("spec.podSelector.matchExpressions[%d]", [i]) | some i in [2, 3, 4]}
}

test_overrides if {
	fields({"containerOverride": {"env": [{"name": "A", "value": "b"}]}}) == set()
	every field, override in {
		"image": {"image": "evil"},
		"securityContext": {"securityContext": {"privileged": true}},
		"env[0].valueFrom": {"env": [{"name": "A", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}}]},
	} {
		fields({"containerOverride": override}) == {sprintf("spec.containerOverride.%s", [field])}
		granted({"containerOverride": override}) == set()
	}
	granted({"containerOverride": {"env": [{"name": "OZ_MANAGEMENT_URL", "value": "https://evil"}]}}) == {"spec.containerOverride.env[0].name"}
}
