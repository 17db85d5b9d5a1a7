package library.mutable_tags_test

import rego.v1

import data.library.mutable_tags
import data.library.shared.testing

fields := {violation.field | some violation in mutable_tags.deny}

test_tags if {
	every image in ["web", "web:latest", "localhost:5000/web"] {
		fields == {"spec.containers[0].image"} with input as testing.container({"image": image})
	}
	every image in [
		"web:1.0",
		"localhost:5000/web:1",
		"web@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
	] {
		fields == set() with input as testing.container({"image": image})
	}
}

test_the_parameter if {
	request := object.union(testing.container({"image": "web:main"}), {"parameters": {"mutableTags": ["main"]}})
	fields == {"spec.containers[0].image"} with input as request
}
