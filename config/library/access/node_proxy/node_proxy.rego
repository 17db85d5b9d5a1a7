# METADATA
# title: Roles must not use the proxy of nodes
# description: Denies roles that permit access to nodes/proxy.
# related_resources:
#   - ref: https://www.cisecurity.org/benchmark/kubernetes
#     description: CIS Kubernetes Benchmark, recommendation 5.1.10
#   - ref: https://kubernetes.io/docs/concepts/security/rbac-good-practices/
#     description: Role Based Access Control good practices
# custom:
#   severity: critical
#   category: access
#   rationale: >-
#     The proxy of a node gives access to the API of its kubelet, which runs commands in
#     each Pod of the node without admission and audit.
#   remedy: >-
#     Use nodes/metrics and nodes/stats, which monitoring needs, in place of
#     nodes/proxy.
#   match:
#     kinds:
#       - {group: rbac.authorization.k8s.io, kind: Role}
#       - {group: rbac.authorization.k8s.io, kind: ClusterRole}
package library.node_proxy

import rego.v1

import data.library.shared.roles

# METADATA
# title: Roles must not use the proxy of nodes
deny contains violation if {
	some i, rule in roles.rules
	roles.permits(rule, "", {"nodes/proxy"}, {"get", "create"})
	violation := {
		"msg": sprintf("%v uses the API of kubelets: remove nodes/proxy", [roles.describe]),
		"field": sprintf("rules[%d]", [i]),
	}
}
