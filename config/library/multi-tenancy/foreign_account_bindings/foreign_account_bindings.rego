# METADATA
# title: RoleBindings must not bind ServiceAccounts of other namespaces
# description: >-
#   Denies subjects of RoleBindings that are ServiceAccounts of another namespace, or
#   the group of all ServiceAccounts of another namespace.
# related_resources:
#   - ref: https://kubernetes.io/docs/concepts/security/multi-tenancy/
#     description: Multi-tenancy
# custom:
#   severity: high
#   category: multi-tenancy
#   rationale: >-
#     The owner of the other namespace can act in this namespace, also after the reason
#     for the binding is gone.
#   remedy: >-
#     Bind a ServiceAccount of the namespace itself. List shared namespaces in the
#     parameter sharedNamespaces.
#   parameters:
#     sharedNamespaces: >-
#       namespaces whose ServiceAccounts may be bound everywhere; [kube-system] by
#       default
#   match:
#     kinds: [{group: rbac.authorization.k8s.io, kind: RoleBinding}]
package library.foreign_account_bindings

import rego.v1

import data.library.shared.objects
import data.library.shared.roles

# METADATA
# title: No ServiceAccounts of other namespaces
deny contains violation if {
	some i, subject in roles.subjects
	[namespace, name] := roles.account(subject)
	is_foreign(namespace)
	violation := {
		"msg": sprintf("%v binds ServiceAccount %q of namespace %q: bind one of its own namespace", [roles.describe, name, namespace]),
		"field": sprintf("subjects[%d]", [i]),
	}
}

# METADATA
# title: No groups of ServiceAccounts of other namespaces
deny contains violation if {
	some i, subject in roles.subjects
	subject.kind == "Group"
	namespace := trim_prefix(subject.name, "system:serviceaccounts:")
	namespace != subject.name
	is_foreign(namespace)
	violation := {
		"msg": sprintf("%v binds all ServiceAccounts of namespace %q: bind those of its own namespace", [roles.describe, namespace]),
		"field": sprintf("subjects[%d].name", [i]),
	}
}

is_foreign(namespace) if {
	namespace != input.request.namespace
	not namespace in objects.parameter("sharedNamespaces", ["kube-system"])
}
