package library.qualified_images_test

import rego.v1

import data.library.qualified_images
import data.library.shared.testing

fields := {violation.field | some violation in qualified_images.deny}

test_registries if {
	every image in ["nginx", "team/web:1", ""] {
		fields == {"spec.containers[0].image"} with input as testing.container({"image": image})
	}
	every image in ["docker.io/library/nginx", "localhost/web", "registry:5000/web"] {
		fields == set() with input as testing.container({"image": image})
	}
}
