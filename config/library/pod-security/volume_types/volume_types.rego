# METADATA
# title: Pods must use volumes of portable types
# description: >-
#   Permits configMap, csi, downwardAPI, emptyDir, ephemeral, image,
#   persistentVolumeClaim, projected and secret. Control "Volume Types" of Pod Security
#   restricted.
# related_resources:
#   - ref: https://kubernetes.io/docs/concepts/security/pod-security-standards/
#     description: Pod Security Standards
# custom:
#   severity: medium
#   category: pod-security
#   rationale: >-
#     Other types depend on the node, or contain addresses and credentials of storage
#     servers that tenants must not choose.
#   remedy: Use a persistentVolumeClaim for storage.
#   match:
#     kinds: [{group: "", kind: Pod}]
#     subresources: [ephemeralcontainers]
#     expand: warn
package library.volume_types

import rego.v1

import data.library.shared.objects
import data.library.shared.pods

# METADATA
# title: Only volumes of portable types
deny contains violation if {
	some i, volume in pods.spec.volumes
	used := {key | some key, value in volume; value != null} - {"name"}
	not is_portable(used)
	violation := {
		"msg": sprintf(
			"volume %q is of type %v: use one of %v",
			[objects.text(volume, "name"), type_of(used), concat(", ", portable)],
		),
		"field": sprintf("spec.volumes[%d]", [i]),
	}
}

is_portable(used) if {
	used != set()
	used - portable == set()
}

type_of(used) := concat(" and ", used) if {
	count(used) > 0
} else := "unknown"

portable := {
	"configMap",
	"csi",
	"downwardAPI",
	"emptyDir",
	"ephemeral",
	"image",
	"persistentVolumeClaim",
	"projected",
	"secret",
}
