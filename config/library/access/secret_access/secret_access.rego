# METADATA
# title: Roles must not read Secrets
# description: >-
#   Denies roles that permit get, list or watch of Secrets. Rules that name the Secrets
#   in resourceNames are permitted.
# related_resources:
#   - ref: https://www.cisecurity.org/benchmark/kubernetes
#     description: CIS Kubernetes Benchmark, recommendation 5.1.2
#   - ref: https://media.defense.gov/2022/Aug/29/2003066362/-1/-1/0/CTR_KUBERNETES_HARDENING_GUIDANCE_1.2_20220829.PDF
#     description: >-
#       NSA and CISA, Kubernetes Hardening Guidance, Authentication and authorization
# custom:
#   severity: high
#   category: access
#   rationale: >-
#     Secrets contain credentials. With list or watch, a user reads all Secrets of a
#     namespace, and with a ClusterRole those of the cluster.
#   remedy: >-
#     Mount the Secret into the Pod that needs it, or name it in resourceNames. Exempt
#     controllers that must read Secrets with a PolicyException.
#   match:
#     kinds:
#       - {group: rbac.authorization.k8s.io, kind: Role}
#       - {group: rbac.authorization.k8s.io, kind: ClusterRole}
package library.secret_access

import rego.v1

import data.library.shared.roles

# METADATA
# title: Roles must not read Secrets
deny contains violation if {
	some i, rule in roles.rules
	roles.permits(rule, "", {"secrets"}, {"get", "list", "watch"})
	object.get(rule, "resourceNames", []) in {[], null}
	violation := {
		"msg": sprintf("%v reads all Secrets: name the Secrets in resourceNames, or remove get, list and watch", [roles.describe]),
		"field": sprintf("rules[%d]", [i]),
	}
}
