# METADATA
# title: Roles must not create Pods
# description: Denies roles that permit to create Pods directly.
# related_resources:
#   - ref: https://www.cisecurity.org/benchmark/kubernetes
#     description: CIS Kubernetes Benchmark, recommendation 5.1.4
# custom:
#   severity: medium
#   category: access
#   rationale: >-
#     A user who creates Pods can run them with each ServiceAccount and mount each
#     Secret of the namespace.
#   remedy: >-
#     Permit users to change Deployments through a reviewed pipeline. Exempt controllers
#     that create Pods with a PolicyException.
#   match:
#     kinds:
#       - {group: rbac.authorization.k8s.io, kind: Role}
#       - {group: rbac.authorization.k8s.io, kind: ClusterRole}
package library.pod_creation

import rego.v1

import data.library.shared.roles

# METADATA
# title: Roles must not create Pods
deny contains violation if {
	some i, rule in roles.rules
	roles.permits(rule, "", {"pods"}, {"create"})
	violation := {
		"msg": sprintf("%v creates Pods: remove create of pods", [roles.describe]),
		"field": sprintf("rules[%d]", [i]),
	}
}
