# METADATA
# title: Roles must not create PersistentVolumes
# description: Denies roles that permit to create PersistentVolumes.
# related_resources:
#   - ref: https://www.cisecurity.org/benchmark/kubernetes
#     description: CIS Kubernetes Benchmark, recommendation 5.1.9
# custom:
#   severity: high
#   category: access
#   rationale: >-
#     A PersistentVolume of type hostPath gives access to the files of a node, past the
#     policies for Pods.
#   remedy: >-
#     Use PersistentVolumeClaims and a StorageClass. Exempt the provisioner with a
#     PolicyException.
#   match:
#     kinds:
#       - {group: rbac.authorization.k8s.io, kind: Role}
#       - {group: rbac.authorization.k8s.io, kind: ClusterRole}
package library.persistent_volume_creation

import rego.v1

import data.library.shared.roles

# METADATA
# title: Roles must not create PersistentVolumes
deny contains violation if {
	some i, rule in roles.rules
	roles.permits(rule, "", {"persistentvolumes"}, {"create"})
	violation := {
		"msg": sprintf("%v creates PersistentVolumes: remove create of persistentvolumes", [roles.describe]),
		"field": sprintf("rules[%d]", [i]),
	}
}
