# METADATA
# title: Pods must not use the group 0
# description: >-
#   Denies runAsGroup 0, and the group 0 in supplementalGroups and fsGroup, except for
#   Pods in a user namespace.
# related_resources:
#   - ref: https://media.defense.gov/2022/Aug/29/2003066362/-1/-1/0/CTR_KUBERNETES_HARDENING_GUIDANCE_1.2_20220829.PDF
#     description: NSA and CISA, Kubernetes Hardening Guidance, Pod security
# custom:
#   severity: medium
#   category: hardening
#   rationale: >-
#     Files of the root group are often writable for its members, also on volumes that
#     several Pods share.
#   remedy: Set the groups to another value than 0.
#   match:
#     kinds: [{group: "", kind: Pod}]
#     subresources: [ephemeralcontainers]
#     expand: warn
package library.root_group

import rego.v1

import data.library.shared.pods

# METADATA
# title: No group 0 of processes
deny contains violation if {
	some path, context in pods.contexts
	context.runAsGroup == 0
	not pods.has_user_namespace
	violation := {
		"msg": sprintf("%v runs with the group 0: set securityContext.runAsGroup to another group", [pods.owner(path)]),
		"field": sprintf("%v.runAsGroup", [path]),
	}
}

# METADATA
# title: No group 0 of volumes
deny contains violation if {
	pods.spec.securityContext.fsGroup == 0
	not pods.has_user_namespace
	violation := {
		"msg": sprintf("Pod %q uses volumes with the group 0: set securityContext.fsGroup to another group", [input.name]),
		"field": "spec.securityContext.fsGroup",
	}
}

# METADATA
# title: No further group 0
deny contains violation if {
	some i, group in pods.spec.securityContext.supplementalGroups
	group == 0
	not pods.has_user_namespace
	violation := {
		"msg": sprintf("Pod %q has the group 0: remove it from securityContext.supplementalGroups", [input.name]),
		"field": sprintf("spec.securityContext.supplementalGroups[%d]", [i]),
	}
}
