package openclaw.instance_test

import rego.v1

import data.openclaw.instance

review(spec) := {"request": {"object": {"spec": spec}}, "facts": {"registries": ["r.example.com/ok/"]}}

test_integrations if {
	count(instance.deny) == 0 with input as review({"integrations": [{"type": "gmail"}, {"type": "gcal"}]})
	{d.field | some d in instance.deny} == {"spec.integrations[0].type"} with input as review({"integrations": [{"type": "fax"}]})
	{d.field | some d in instance.deny} == {"spec.integrations[1].type"} with input as review({"integrations": [{"type": "jira"}, {"type": "jira"}]})
}

test_images if {
	count(instance.deny) == 0 with input as review({"images": {"gateway": "r.example.com/ok/gateway"}})
	{d.field | some d in instance.deny} == {"spec.images.opa"} with input as review({"images": {"opa": "r.example.com/okay/opa"}})
	nowhere := object.union(review({"images": {"opa": "x"}}), {"facts": {"registries": []}})
	some denial in instance.deny with input as nowhere
	contains(denial.msg, "none is")
}

test_replicas if {
	count(instance.warn) == 1 with input as review({"deploymentMode": "single", "replicas": 2})
	count(instance.warn) == 0 with input as review({"deploymentMode": "single", "replicas": 1})
	count(instance.warn) == 0 with input as review({"deploymentMode": "ha", "replicas": 2})
}

test_defaults if {
	instance.defaults == {"spec": {"auth": {"clientSecretRef": {"key": "client-secret"}}, "storage": {
		"postgresSecretRef": {"key": "connection-string"},
		"redisSecretRef": {"key": "connection-string"},
	}}} with input as review({"auth": {"clientSecretRef": {"name": "a"}}, "storage": {"postgresSecretRef": {"name": "b"}, "redisSecretRef": {"name": "c"}}})
}
