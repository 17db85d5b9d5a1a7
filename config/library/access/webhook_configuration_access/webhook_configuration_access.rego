# METADATA
# title: Roles must not change webhook configurations
# description: Denies roles that permit changes of admission webhooks.
# related_resources:
#   - ref: https://www.cisecurity.org/benchmark/kubernetes
#     description: CIS Kubernetes Benchmark, recommendation 5.1.12
#   - ref: https://kubernetes.io/docs/concepts/security/rbac-good-practices/
#     description: Role Based Access Control good practices
# custom:
#   severity: critical
#   category: access
#   rationale: >-
#     A user who changes webhook configurations reads and changes each object that is
#     sent to the API server, and can turn off policies.
#   remedy: >-
#     Remove create, update, patch and delete of the webhook configurations. Exempt
#     installers with a PolicyException.
#   match:
#     kinds:
#       - {group: rbac.authorization.k8s.io, kind: Role}
#       - {group: rbac.authorization.k8s.io, kind: ClusterRole}
package library.webhook_configuration_access

import rego.v1

import data.library.shared.roles

# METADATA
# title: Roles must not change webhook configurations
deny contains violation if {
	some i, rule in roles.rules
	roles.permits(rule, "admissionregistration.k8s.io", {"validatingwebhookconfigurations", "mutatingwebhookconfigurations"}, {"create", "update", "patch", "delete"})
	violation := {
		"msg": sprintf("%v changes admission webhooks: permit get, list and watch only", [roles.describe]),
		"field": sprintf("rules[%d]", [i]),
	}
}
