package samples.privileged_test

import rego.v1

import data.samples.privileged

test_every_list_of_containers_is_judged if {
	some field in ["containers", "initContainers", "ephemeralContainers"]
	violations := privileged.deny with input as pod({field: [
		{"name": "plain", "securityContext": {"privileged": false}},
		{"name": "root", "securityContext": {"privileged": true}},
	]})
	violations == {{
		"msg": `container "root" of Pod "web" is privileged: remove securityContext.privileged`,
		"field": sprintf("spec.%v[1].securityContext.privileged", [field]),
	}}
}

test_each_container_is_named if {
	violations := privileged.deny with input as pod({
		"containers": [{"name": "a", "securityContext": {"privileged": true}}],
		"initContainers": [{"name": "b", "securityContext": {"privileged": true}}],
	})
	count(violations) == 2
}

test_a_container_without_name_is_judged if {
	violations := privileged.deny with input as pod({"containers": [{"securityContext": {"privileged": true}}]})
	count(violations) == 1
}

test_plain_containers_are_admitted if {
	privileged.deny == set() with input as pod({"containers": [{"name": "web", "image": "nginx:1.29"}]})
	privileged.deny == set() with input as pod({"containers": [{"name": "web", "securityContext": null}]})
}

test_missing_fields_are_admitted if {
	privileged.deny == set() with input as pod({})
	privileged.deny == set() with input as pod(null)
	privileged.deny == set() with input as pod({"containers": null})
	privileged.deny == set() with input as pod({"containers": [null]})
	privileged.deny == set() with input as {"name": "web", "request": {"object": null}}
}

pod(spec) := {"name": "web", "request": {
	"kind": {"group": "", "version": "v1", "kind": "Pod"},
	"object": {"metadata": {"name": "web"}, "spec": spec},
}}
