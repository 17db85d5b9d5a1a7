# METADATA
# title: Volumes of type emptyDir must have a size limit
# description: Requires sizeLimit on each emptyDir.
# related_resources:
#   - ref: https://kubernetes.io/docs/concepts/storage/volumes/#emptydir
#     description: Volumes
# custom:
#   severity: low
#   category: cost
#   rationale: >-
#     An emptyDir without a limit can fill the disk of its node or, with the medium
#     Memory, its memory.
#   remedy: Set emptyDir.sizeLimit.
#   match:
#     kinds: [{group: "", kind: Pod}]
#     expand: warn
package library.empty_dir_limits

import rego.v1

import data.library.shared.objects
import data.library.shared.pods
import data.library.shared.quantities

# METADATA
# title: Volumes of type emptyDir must have a size limit
deny contains violation if {
	some i, volume in pods.spec.volumes
	is_object(volume.emptyDir)
	not quantities.number(object.get(volume.emptyDir, "sizeLimit", null))
	violation := {
		"msg": sprintf("volume %q has no size limit: set emptyDir.sizeLimit", [objects.text(volume, "name")]),
		"field": sprintf("spec.volumes[%d].emptyDir.sizeLimit", [i]),
	}
}
