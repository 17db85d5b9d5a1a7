# METADATA
# title: Containers must pull images that are not pinned
# description: >-
#   Requires imagePullPolicy Always for images without a digest, as the admission plugin
#   AlwaysPullImages does.
# related_resources:
#   - ref: https://www.cisecurity.org/benchmark/kubernetes
#     description: CIS Kubernetes Benchmark, recommendation 1.2.11
#   - ref: https://kubernetes.io/docs/reference/access-authn-authz/admission-controllers/#alwayspullimages
#     description: AlwaysPullImages
# custom:
#   severity: low
#   category: supply-chain
#   rationale: >-
#     Without it, a Pod can run a private image that is on the node already, without
#     credentials for its registry, or an outdated one.
#   remedy: Set imagePullPolicy to Always, or pin the image by digest.
#   match:
#     kinds: [{group: "", kind: Pod}]
#     subresources: [ephemeralcontainers]
#     expand: warn
package library.image_pull_policy

import rego.v1

import data.library.shared.images
import data.library.shared.objects
import data.library.shared.pods

# METADATA
# title: Containers must pull images that are not pinned
deny contains violation if {
	some path, container in pods.containers
	not images.has_digest(objects.text(container, "image"))
	pull_policy(container) != "Always"
	violation := {
		"msg": sprintf("%v may run an image that it does not pull: set imagePullPolicy to Always, or pin the image", [pods.describe(container)]),
		"field": sprintf("%v.imagePullPolicy", [path]),
	}
}

pull_policy(container) := container.imagePullPolicy if {
	objects.text(container, "imagePullPolicy") != ""
} else := default_policy(images.tag(objects.text(container, "image")))

# As the API server sets it.
default_policy(tag) := "Always" if {
	tag in {"", "latest"}
} else := "IfNotPresent"
