package samples.latest_tag_test

import rego.v1

import data.samples.latest_tag

test_images_that_may_change_are_warned_of if {
	every image in [
		"nginx",
		"nginx:latest",
		"library/nginx",
		"registry.example.com:5000/web",
		"registry.example.com:5000/web:latest",
		"localhost:5000/team/web",
	] {
		warnings := latest_tag.warn with input as pod({"containers": [{"name": "web", "image": image}]})
		count(warnings) == 1
	}
}

test_fixed_images_are_not if {
	every image in [
		"nginx:1.29",
		"nginx@sha256:0123",
		"nginx:latest@sha256:0123",
		"registry.example.com:5000/web:1.0",
		"registry.example.com:5000/team/web@sha256:0123",
	] {
		latest_tag.warn == set() with input as pod({"containers": [{"name": "web", "image": image}]})
	}
}

test_every_list_of_containers_is_judged if {
	some field in ["containers", "initContainers", "ephemeralContainers"]
	warnings := latest_tag.warn with input as pod({field: [
		{"name": "fixed", "image": "nginx:1.29"},
		{"name": "web", "image": "nginx"},
	]})
	warnings == {{
		"msg": concat(" ", [
			`image "nginx" of container "web" may change at any restart:`,
			"name a tag other than latest, or a digest",
		]),
		"field": sprintf("spec.%v[1].image", [field]),
	}}
}

test_missing_fields_are_not_warned_of if {
	every spec in [{}, null, {"containers": null}, {"containers": [null, {"name": "web"}, {"image": null}]}] {
		latest_tag.warn == set() with input as pod(spec)
	}
	latest_tag.warn == set() with input as {"name": "web", "request": {"object": null}}
}

pod(spec) := {"name": "web", "request": {
	"kind": {"group": "", "version": "v1", "kind": "Pod"},
	"object": {"metadata": {"name": "web"}, "spec": spec},
}}
