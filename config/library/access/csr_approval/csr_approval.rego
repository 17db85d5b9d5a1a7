# METADATA
# title: Roles must not approve CertificateSigningRequests
# description: >-
#   Denies roles that permit to update the approval of CertificateSigningRequests.
# related_resources:
#   - ref: https://www.cisecurity.org/benchmark/kubernetes
#     description: CIS Kubernetes Benchmark, recommendation 5.1.11
#   - ref: https://kubernetes.io/docs/concepts/security/rbac-good-practices/
#     description: Role Based Access Control good practices
# custom:
#   severity: critical
#   category: access
#   rationale: >-
#     A user who approves requests can get a client certificate with the name of any
#     user, such as a member of an administrative group.
#   remedy: >-
#     Remove certificatesigningrequests/approval. Exempt the approver with a
#     PolicyException.
#   match:
#     kinds:
#       - {group: rbac.authorization.k8s.io, kind: Role}
#       - {group: rbac.authorization.k8s.io, kind: ClusterRole}
package library.csr_approval

import rego.v1

import data.library.shared.roles

# METADATA
# title: Roles must not approve CertificateSigningRequests
deny contains violation if {
	some i, rule in roles.rules
	roles.permits(rule, "certificates.k8s.io", {"certificatesigningrequests/approval"}, {"update", "patch"})
	violation := {
		"msg": sprintf("%v approves certificates: remove certificatesigningrequests/approval", [roles.describe]),
		"field": sprintf("rules[%d]", [i]),
	}
}
