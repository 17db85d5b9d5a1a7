# METADATA
# title: Namespaces must not have names of the system
# description: >-
#   Denies new Namespaces whose names match a pattern of the parameter
#   reservedNamespaces.
# related_resources:
#   - ref: https://kubernetes.io/docs/concepts/overview/working-with-objects/namespaces/
#     description: Namespaces
# custom:
#   severity: medium
#   category: multi-tenancy
#   rationale: >-
#     Policies, quotas and alerts often exclude namespaces of the system by their names.
#     A tenant with such a name is excluded, too.
#   remedy: Choose another name.
#   parameters:
#     reservedNamespaces: >-
#       names and globs; ["kube-*", "openshift-*", "*-system"] by default
#   match:
#     kinds: [{group: "", kind: Namespace}]
#     operations: [CREATE]
package library.namespace_names

import rego.v1

import data.library.shared.objects

# METADATA
# title: Namespaces must not have names of the system
deny contains violation if {
	some pattern in objects.parameter("reservedNamespaces", ["kube-*", "openshift-*", "*-system"])
	glob.match(pattern, null, input.name)
	not input.request.userInfo.username == "system:apiserver"
	violation := {
		"msg": sprintf("Namespace %q has a name that is reserved by %q: choose another name", [input.name, pattern]),
		"field": "metadata.name",
	}
}
