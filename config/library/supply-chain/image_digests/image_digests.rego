# METADATA
# title: Images must be pinned by digest
# description: Requires a digest in each image of containers and image volumes.
# related_resources:
#   - ref: https://media.defense.gov/2022/Aug/29/2003066362/-1/-1/0/CTR_KUBERNETES_HARDENING_GUIDANCE_1.2_20220829.PDF
#     description: NSA and CISA, Kubernetes Hardening Guidance, Pod security
#   - ref: https://kubernetes.io/docs/concepts/containers/images/#image-names
#     description: Images
# custom:
#   severity: medium
#   category: supply-chain
#   rationale: >-
#     A tag can be moved to another image. A digest always refers to the same content,
#     which was tested and scanned.
#   remedy: Replace the tag by the digest, such as registry.example.com/web@sha256:…
#   match:
#     kinds: [{group: "", kind: Pod}]
#     subresources: [ephemeralcontainers]
#     expand: warn
package library.image_digests

import rego.v1

import data.library.shared.images

# METADATA
# title: Images must be pinned by digest
deny contains violation if {
	some path, image in images.used
	not images.has_digest(image)
	violation := {
		"msg": sprintf("image %q has no digest: pin it with @sha256:…", [image]),
		"field": path,
	}
}
