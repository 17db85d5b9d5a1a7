# METADATA
# title: Images must not be on the list of denied images
# description: >-
#   Denies the repositories of the parameter deniedImages, for example after the
#   discovery of a vulnerability.
# related_resources:
#   - ref: https://kubernetes.io/docs/concepts/containers/images/
#     description: Images
# custom:
#   severity: high
#   category: supply-chain
#   rationale: >-
#     A list of denied images stops new Pods of a vulnerable or abandoned image faster
#     than a change of all manifests.
#   remedy: Use another image or version.
#   parameters:
#     deniedImages: >-
#       repositories, repositories with a tag or a digest, or paths that end with a
#       slash; gcr.io/google-containers/ and k8s.gcr.io/, which are frozen, by default
#   match:
#     kinds: [{group: "", kind: Pod}]
#     subresources: [ephemeralcontainers]
#     expand: warn
package library.denied_images

import rego.v1

import data.library.shared.images
import data.library.shared.objects

# METADATA
# title: Images must not be on the list of denied images
deny contains violation if {
	some path, image in images.used
	some entry in objects.parameter("deniedImages", ["gcr.io/google-containers/", "k8s.gcr.io/"])
	matches(image, entry)
	violation := {
		"msg": sprintf("image %q is denied by entry %q of deniedImages: use another image or version", [image, entry]),
		"field": path,
	}
}

matches(image, entry) if images.repository(image) == entry

matches(image, entry) if sprintf("%v:%v", [images.repository(image), images.tag(image)]) == entry

matches(image, entry) if sprintf("%v@%v", [images.repository(image), split(image, "@")[1]]) == entry

matches(image, entry) if {
	endswith(entry, "/")
	startswith(images.repository(image), entry)
}
