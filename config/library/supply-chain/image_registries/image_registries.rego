# METADATA
# title: Images must come from allowed registries
# description: >-
#   Permits images of containers and of image volumes from the registries and paths of
#   the parameter allowedRegistries only.
# related_resources:
#   - ref: https://www.cisecurity.org/benchmark/kubernetes
#     description: CIS Kubernetes Benchmark, recommendation 5.5.1
#   - ref: https://media.defense.gov/2022/Aug/29/2003066362/-1/-1/0/CTR_KUBERNETES_HARDENING_GUIDANCE_1.2_20220829.PDF
#     description: NSA and CISA, Kubernetes Hardening Guidance, Pod security
# custom:
#   severity: high
#   category: supply-chain
#   rationale: >-
#     An image from an unknown registry has passed no scan, and its owner can replace
#     it.
#   remedy: >-
#     Copy the image to an allowed registry, or add its registry to the parameter
#     allowedRegistries.
#   parameters:
#     allowedRegistries: >-
#       registries, paths in a registry or repositories, such as
#       registry.example.com/team; [registry.k8s.io] by default. Docker Hub is docker.io
#   match:
#     kinds: [{group: "", kind: Pod}]
#     subresources: [ephemeralcontainers]
#     expand: warn
package library.image_registries

import rego.v1

import data.library.shared.images
import data.library.shared.objects

# METADATA
# title: Images must come from allowed registries
deny contains violation if {
	some path, image in images.used
	not is_allowed(image)
	violation := {
		"msg": sprintf("image %q is not from an allowed registry: use one of %v", [image, concat(", ", allowed)]),
		"field": path,
	}
}

allowed := objects.parameter("allowedRegistries", ["registry.k8s.io"])

# Prefixes end at a slash: registry.example.com does not permit registry.example.com.evil.io.
is_allowed(image) if {
	image != ""
	some prefix in allowed
	startswith(sprintf("%v/", [images.repository(image)]), sprintf("%v/", [trim_right(prefix, "/")]))
}
