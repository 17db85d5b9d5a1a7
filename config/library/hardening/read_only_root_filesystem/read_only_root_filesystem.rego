# METADATA
# title: Containers must have a read-only root filesystem
# description: >-
#   Requires readOnlyRootFilesystem, except in Pods for Windows and in ephemeral
#   containers.
# related_resources:
#   - ref: https://media.defense.gov/2022/Aug/29/2003066362/-1/-1/0/CTR_KUBERNETES_HARDENING_GUIDANCE_1.2_20220829.PDF
#     description: NSA and CISA, Kubernetes Hardening Guidance, Pod security
# custom:
#   severity: medium
#   category: hardening
#   rationale: >-
#     An attacker cannot change or add programs in a container whose root filesystem is
#     read-only.
#   remedy: >-
#     Set securityContext.readOnlyRootFilesystem to true, and mount an emptyDir where
#     the program writes.
#   match:
#     kinds: [{group: "", kind: Pod}]
#     expand: warn
package library.read_only_root_filesystem

import rego.v1

import data.library.shared.pods

# METADATA
# title: Containers must have a read-only root filesystem
deny contains violation if {
	some path, container in pods.resource_containers
	pods.setting(container, "readOnlyRootFilesystem") != true
	not pods.is_windows
	violation := {
		"msg": sprintf("%v can change its root filesystem: set securityContext.readOnlyRootFilesystem to true", [pods.describe(container)]),
		"field": sprintf("%v.securityContext.readOnlyRootFilesystem", [path]),
	}
}
