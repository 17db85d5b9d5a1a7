# METADATA
# title: Images must name their registry
# description: >-
#   Denies images without a registry, such as nginx, which container runtimes complete
#   by their own configuration.
# related_resources:
#   - ref: https://kubernetes.io/docs/concepts/containers/images/#image-names
#     description: Images
# custom:
#   severity: medium
#   category: supply-chain
#   rationale: >-
#     A node can be configured to take such an image from several registries, also from
#     one in which anyone can publish.
#   remedy: Write the registry of the image, such as docker.io/library/nginx.
#   match:
#     kinds: [{group: "", kind: Pod}]
#     subresources: [ephemeralcontainers]
#     expand: warn
package library.qualified_images

import rego.v1

import data.library.shared.images

# METADATA
# title: Images must name their registry
deny contains violation if {
	some path, image in images.used
	not images.has_registry(image)
	violation := {
		"msg": sprintf("image %q has no registry: write it in full, such as docker.io/library/nginx:1.29", [image]),
		"field": path,
	}
}
