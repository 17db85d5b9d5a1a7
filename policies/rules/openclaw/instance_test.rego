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

test_permitted_images if {
	every image in [
		"ghcr.io/acme/gateway:1", "ghcr.io/acme/gateway", "ghcr.io/acme/gateway@sha256:00", "",
	] {
		every registry in ["ghcr.io", "ghcr.io/acme", "ghcr.io/acme/", "ghcr.io/acme/gateway"] {
			count(instance.deny) == 0 with input as from(image, ["other.example.com", registry])
		}
	}
}

test_images_that_are_not_permitted if {
	every c in [
		["ghcr.io/acme-evil/gateway:1", "ghcr.io/acme"],
		["ghcr.io.evil.io/gateway:1", "ghcr.io"],
		["ghcr.io:5000/gateway:1", "ghcr.io"],
		["ghcr.io/acme/gateway-evil:1", "ghcr.io/acme/gateway"],
		["ghcr.io", "ghcr.io"],
		["gateway:1", ""],
		["/gateway:1", "/"],
	] {
		count(instance.deny) == 1 with input as from(c[0], ["other.example.com", c[1]])
	}
}

from(image, registries) := object.union(review({"images": {"gateway": image}}), {"facts": {"registries": registries}})

test_replicas if {
	count(instance.warn) == 1 with input as review({"deploymentMode": "single", "replicas": 2})
	count(instance.warn) == 0 with input as review({"deploymentMode": "single", "replicas": 1})
	count(instance.warn) == 0 with input as review({"deploymentMode": "ha", "replicas": 2})
}

bounded(replicas) := object.union(review({"replicas": replicas}), {"facts": {"maxReplicas": 20}})

test_most_replicas if {
	count(instance.deny) == 0 with input as bounded(20)
	instance.deny == {{
		"field": "spec.replicas",
		"msg": "spec.replicas: Invalid value 21: must be at most 20 (the manager's --openclaw-max-replicas)",
	}} with input as bounded(21)
	count(instance.deny) == 0 with input as review({"replicas": 100000})
}

test_defaults if {
	instance.defaults == {"spec": {"auth": {"clientSecretRef": {"key": "client-secret"}}, "storage": {
		"postgresSecretRef": {"key": "connection-string"},
		"redisSecretRef": {"key": "connection-string"},
	}}} with input as review({"auth": {"clientSecretRef": {"name": "a"}}, "storage": {"postgresSecretRef": {"name": "b"}, "redisSecretRef": {"name": "c"}}})
}
