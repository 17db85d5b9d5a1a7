# METADATA
# title: SELinux types must be those of containers
# description: >-
#   Denies SELinux users, roles and types that are not for containers. Control "SELinux"
#   of Pod Security baseline.
# related_resources:
#   - ref: https://kubernetes.io/docs/concepts/security/pod-security-standards/
#     description: Pod Security Standards
# custom:
#   severity: high
#   category: pod-security
#   rationale: Types such as spc_t remove the confinement of a container by SELinux.
#   remedy: >-
#     Remove seLinuxOptions.user, seLinuxOptions.role and seLinuxOptions.type, or set
#     the type to container_t.
#   match:
#     kinds: [{group: "", kind: Pod}]
#     subresources: [ephemeralcontainers]
#     expand: warn
package library.se_linux_options

import rego.v1

import data.library.shared.pods

# METADATA
# title: Types are those of containers
deny contains violation if {
	some path, context in pods.contexts
	type := context.seLinuxOptions.type
	not type in {null, "", "container_t", "container_init_t", "container_kvm_t", "container_engine_t"}
	violation := {
		"msg": sprintf(
			"%v has the SELinux type %q: remove securityContext.seLinuxOptions.type, or set it to container_t",
			[pods.owner(path), type],
		),
		"field": sprintf("%v.seLinuxOptions.type", [path]),
	}
}

# METADATA
# title: No users and roles
deny contains violation if {
	some path, context in pods.contexts
	some field in ["user", "role"]
	value := context.seLinuxOptions[field]
	not value in {null, ""}
	violation := {
		"msg": sprintf("%v sets the SELinux %v: remove securityContext.seLinuxOptions.%v", [pods.owner(path), field, field]),
		"field": sprintf("%v.seLinuxOptions.%v", [path, field]),
	}
}
