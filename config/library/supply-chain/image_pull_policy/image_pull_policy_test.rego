package library.image_pull_policy_test

import rego.v1

import data.library.image_pull_policy
import data.library.shared.testing

fields := {violation.field | some violation in image_pull_policy.deny}

test_the_default if {
	fields == set() with input as testing.container({"image": "web"})
	fields == set() with input as testing.container({"image": "web:latest"})
	fields == {"spec.containers[0].imagePullPolicy"} with input as testing.container({"image": "web:1"})
}

test_pull_policies if {
	digest := "@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
	fields == {"spec.containers[0].imagePullPolicy", "spec.containers[1].imagePullPolicy"} with input as testing.pod({"containers": [
		{"name": "a", "image": "web:1", "imagePullPolicy": "IfNotPresent"},
		{"name": "b", "image": "web:1"},
		{"name": "c", "image": "web:1", "imagePullPolicy": "Always"},
		{"name": "d", "image": concat("", ["web", digest])},
	]})
}
