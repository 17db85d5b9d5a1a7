# METADATA
# title: Roles must not delete Events
# description: Denies roles that permit to delete Events.
# related_resources:
#   - ref: https://media.defense.gov/2022/Aug/29/2003066362/-1/-1/0/CTR_KUBERNETES_HARDENING_GUIDANCE_1.2_20220829.PDF
#     description: >-
#       NSA and CISA, Kubernetes Hardening Guidance, Audit logging and threat detection
# custom:
#   severity: medium
#   category: access
#   rationale: >-
#     An attacker who deletes Events removes traces of what happened in the cluster.
#   remedy: Remove delete and deletecollection of events. Events expire by themselves.
#   match:
#     kinds:
#       - {group: rbac.authorization.k8s.io, kind: Role}
#       - {group: rbac.authorization.k8s.io, kind: ClusterRole}
package library.event_deletion

import rego.v1

import data.library.shared.roles

# METADATA
# title: Roles must not delete Events
deny contains violation if {
	some i, rule in roles.rules
	roles.permits(rule, "", {"events"}, {"delete", "deletecollection"})
	violation := {
		"msg": sprintf("%v deletes Events: remove delete and deletecollection of events", [roles.describe]),
		"field": sprintf("rules[%d]", [i]),
	}
}
