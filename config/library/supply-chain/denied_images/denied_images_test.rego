package library.denied_images_test

import rego.v1

import data.library.denied_images
import data.library.shared.testing

fields := {violation.field | some violation in denied_images.deny}

digest := "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

denies(image, entry) if {
	request := object.union(testing.container({"image": image}), {"parameters": {"deniedImages": [entry]}})
	fields == {"spec.containers[0].image"} with input as request
}

test_entries if {
	denies("nginx:1.29", "docker.io/library/nginx")
	denies("nginx:1.29", "docker.io/library/nginx:1.29")
	denies(concat("@", ["nginx:1.29", digest]), concat("@", ["docker.io/library/nginx", digest]))
	denies("evil/web", "docker.io/evil/")
	not denies("nginx:1.30", "docker.io/library/nginx:1.29")
	not denies("nginx-unprivileged", "docker.io/library/nginx")
}

test_the_default if {
	fields == {"spec.containers[0].image"} with input as testing.container({"image": "k8s.gcr.io/pause:3.1"})
}
