# METADATA
# title: Containers must have a limit of ephemeral storage
# description: >-
#   Requires a limit of ephemeral-storage on each container and init container.
# related_resources:
#   - ref: https://kubernetes.io/docs/concepts/storage/ephemeral-storage/
#     description: Local ephemeral storage
# custom:
#   severity: low
#   category: cost
#   rationale: >-
#     Logs and files of a container without a limit can fill the disk of its node, which
#     then evicts Pods of other tenants.
#   remedy: Set resources.limits.ephemeral-storage.
#   match:
#     kinds: [{group: "", kind: Pod}]
#     expand: warn
package library.ephemeral_storage_limits

import rego.v1

import data.library.shared.pods
import data.library.shared.quantities

# METADATA
# title: Containers must have a limit of ephemeral storage
deny contains violation if {
	some path, container in pods.resource_containers
	not quantities.resource(container, "limits", "ephemeral-storage")
	violation := {
		"msg": sprintf("%v has no limit of ephemeral storage: set resources.limits.ephemeral-storage", [pods.describe(container)]),
		"field": sprintf("%v.resources.limits.ephemeral-storage", [path]),
	}
}
