package library.image_registries_test

import rego.v1

import data.library.image_registries
import data.library.shared.testing

fields := {violation.field | some violation in image_registries.deny}

denies(image, allowed) if {
	request := object.union(testing.container({"image": image}), {"parameters": {"allowedRegistries": allowed}})
	fields == {"spec.containers[0].image"} with input as request
}

test_registries if {
	not denies("registry.example.com/web:1", ["registry.example.com"])
	not denies("registry.example.com/team/web:1", ["registry.example.com/team/"])
	not denies("nginx", ["docker.io/library"])
	denies("registry.example.com.evil.io/web", ["registry.example.com"])
	denies("registry.example.com/team-b/web", ["registry.example.com/team"])
	denies("nginx", ["registry.k8s.io"])
	denies("", ["docker.io"])
}

test_the_default if {
	fields == set() with input as testing.container({"image": "registry.k8s.io/pause:3.10"})
	fields == {"spec.volumes[0].image.reference"} with input as testing.pod({"volumes": [{
		"name": "model",
		"image": {"reference": "docker.io/models/model:1"},
	}]})
}
