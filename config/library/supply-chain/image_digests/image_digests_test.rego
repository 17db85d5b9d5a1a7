package library.image_digests_test

import rego.v1

import data.library.image_digests
import data.library.shared.testing

fields := {violation.field | some violation in image_digests.deny}

test_images if {
	digest := "@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
	fields == {"spec.containers[0].image"} with input as testing.pod({
		"initContainers": [{"name": "setup", "image": concat("", ["setup:1", digest])}],
		"containers": [{"name": "web", "image": "web:1"}],
	})
}
