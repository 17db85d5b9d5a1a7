package samples.allowed_registries_test

import rego.v1

import data.samples.allowed_registries

test_the_default_admits_official_images if {
	every image in [
		"nginx",
		"nginx:1.29",
		"library/nginx:1.29",
		"docker.io/nginx",
		"docker.io/library/nginx:1.29",
		"index.docker.io/library/nginx",
		"Docker.io/library/nginx",
		"nginx@sha256:0123",
		"nginx:1.29@sha256:0123",
		"registry.k8s.io/pause:3.10",
		"registry.k8s.io/e2e-test-images/agnhost:2.53",
	] {
		allowed_registries.deny == set() with input as pod({"containers": [{"name": "web", "image": image}]})
	}
}

test_the_default_denies_everything_else if {
	every image in [
		"someone/nginx",
		"docker.io/someone/nginx",
		"registry.k8s.io.evil.io/pause",
		"registry.k8s.io:5000/pause",
		"docker.io.evil.io/library/nginx",
		"evil.io/docker.io/library/nginx",
		"evil.io/registry.k8s.io/pause",
		"localhost/library/nginx",
		"mirror:5000/library/nginx",
		"LIBRARY/nginx",
		"",
	] {
		violations := allowed_registries.deny with input as pod({"containers": [{"name": "web", "image": image}]})
		count(violations) == 1
	}
}

test_the_message_says_what_to_use if {
	violations := allowed_registries.deny with input as pod({"containers": [{"name": "web", "image": "evil.io/web"}]})
	violations == {{
		# The list is the default's, in its order.
		"msg": concat(" ", [
			`image "evil.io/web" of container "web" is not from an allowed registry:`,
			"use one of docker.io/library, registry.k8s.io",
		]),
		"field": "spec.containers[0].image",
	}}
}

test_every_list_of_containers_is_judged if {
	some field in ["containers", "initContainers", "ephemeralContainers"]
	violations := allowed_registries.deny with input as pod({field: [
		{"name": "good", "image": "nginx"},
		{"name": "bad", "image": "evil.io/web"},
	]})
	{violation.field | some violation in violations} == {sprintf("spec.%v[1].image", [field])}
}

test_image_volumes_are_judged if {
	violations := allowed_registries.deny with input as pod({"volumes": [
		{"name": "scratch", "emptyDir": {}},
		{"name": "model", "image": {"reference": "nginx"}},
		{"name": "model", "image": {"reference": "evil.io/model"}},
		{"name": "model", "image": {}},
	]})
	{violation.field | some violation in violations} == {
		"spec.volumes[2].image.reference",
		"spec.volumes[3].image.reference",
	}
}

test_parameters_replace_the_default if {
	every image in ["registry.example.com/web", "quay.example.com:5000/team/web:1", "docker.io/library/busybox"] {
		allowed_registries.deny == set() with input as restricted_pod(image)
	}
	every image in [
		"nginx",
		"registry.example.com.evil.io/web",
		"registry.example.com:5000/web",
		"quay.example.com/team/web",
		"quay.example.com:5000/team-b/web",
		"docker.io/library/busybox-evil",
	] {
		violations := allowed_registries.deny with input as restricted_pod(image)
		count(violations) == 1
	}
}

test_a_container_without_image_is_denied if {
	every container in [{"name": "web"}, {"name": "web", "image": null}, {}, null] {
		violations := allowed_registries.deny with input as pod({"containers": [container]})
		count(violations) == 1
	}
}

test_missing_fields_are_admitted if {
	every spec in [{}, null, {"containers": null, "volumes": null}, {"volumes": [null, {"name": "scratch"}]}] {
		allowed_registries.deny == set() with input as pod(spec)
	}
	allowed_registries.deny == set() with input as {"name": "web", "request": {"object": null}}
}

restricted_pod(image) := object.union(
	pod({"containers": [{"name": "web", "image": image}]}),
	{"parameters": {"allowedRegistries": [
		"registry.example.com/",
		"quay.example.com:5000/team",
		"docker.io/library/busybox",
	]}},
)

pod(spec) := {"name": "web", "parameters": {}, "request": {
	"kind": {"group": "", "version": "v1", "kind": "Pod"},
	"object": {"metadata": {"name": "web"}, "spec": spec},
}}
