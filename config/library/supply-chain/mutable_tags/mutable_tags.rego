# METADATA
# title: Images must not use the tag latest
# description: >-
#   Denies images without a tag or digest, and those with a tag of the parameter
#   mutableTags.
# related_resources:
#   - ref: https://media.defense.gov/2022/Aug/29/2003066362/-1/-1/0/CTR_KUBERNETES_HARDENING_GUIDANCE_1.2_20220829.PDF
#     description: NSA and CISA, Kubernetes Hardening Guidance, Pod security
#   - ref: https://kubernetes.io/docs/concepts/containers/images/#image-names
#     description: Images
# custom:
#   severity: medium
#   category: supply-chain
#   rationale: >-
#     The tag latest refers to other content after each push, so nodes run different
#     versions, and a rollback is not possible.
#   remedy: Set the tag of a version, or a digest.
#   parameters:
#     mutableTags: tags that are denied; [latest] by default
#   match:
#     kinds: [{group: "", kind: Pod}]
#     subresources: [ephemeralcontainers]
#     expand: warn
package library.mutable_tags

import rego.v1

import data.library.shared.images
import data.library.shared.objects

# METADATA
# title: Images must not use the tag latest
deny contains violation if {
	some path, image in images.used
	not images.has_digest(image)
	tag := images.tag(image)
	tag in denied
	violation := {
		"msg": sprintf("image %q has no fixed version: set the tag of a version, or a digest", [image]),
		"field": path,
	}
}

denied contains "" # which is latest

denied contains tag if some tag in objects.parameter("mutableTags", ["latest"])
