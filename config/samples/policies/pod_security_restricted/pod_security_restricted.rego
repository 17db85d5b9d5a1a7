# METADATA
# title: Pod Security Standard, restricted
# description: >-
#   What a Pod needs no more than: each control of the Kubernetes Pod Security
#   Standard of this name as of Kubernetes 1.36, those of baseline included. Set
#   match.namespaces to yours. The resize subresource is not asked about: it
#   changes resources only.
# custom:
#   match:
#     kinds: [{group: "", kind: Pod}]
#     operations: [CREATE, UPDATE]
#     subresources: [ephemeralcontainers]
#     namespaces: ["restricted-*"]
#     expand: warn
package samples.pod_security_restricted

import rego.v1

import data.samples.pod_security_baseline as baseline
import data.samples.pods

# METADATA
# title: What baseline denies
deny contains violation if {
	some violation in baseline.deny
	not violation.details.control in stricter
}

# The controls of baseline that have a stricter one here.
stricter := {"capabilities", "hostPathVolumes", "procMount", "seccompProfile"}

# METADATA
# title: Only volumes that say nothing about the node
deny contains violation if {
	some i, volume in pods.spec.volumes
	types := {key | some key, value in volume; value != null} - {"name"}
	not is_allowed(types)
	violation := {
		"msg": sprintf(
			"volume %q of Pod %q is of type %v: use one of %v",
			[pods.name(volume), input.name, type_name_of(types), concat(", ", volume_types)],
		),
		"field": sprintf("spec.volumes[%d]", [i]),
		"details": {"control": "restrictedVolumes"},
	}
}

is_allowed(types) if {
	types != set()
	types - volume_types == set()
}

type_name_of(types) := concat(" and ", types) if {
	count(types) > 0
} else := "unknown"

volume_types := {
	"configMap",
	"csi",
	"downwardAPI",
	"emptyDir",
	"ephemeral",
	"image",
	"persistentVolumeClaim",
	"projected",
	"secret",
}

# METADATA
# title: No container gains privileges
deny contains violation if {
	some path, container in pods.containers
	not container.securityContext.allowPrivilegeEscalation == false
	not pods.is_windows
	violation := {
		"msg": sprintf(
			"%v may gain privileges: set securityContext.allowPrivilegeEscalation to false",
			[pods.words(container)],
		),
		"field": sprintf("%v.securityContext.allowPrivilegeEscalation", [path]),
		"details": {"control": "allowPrivilegeEscalation"},
	}
}

# METADATA
# title: No security context permits root
deny contains violation if {
	some path, context in pods.contexts
	context.runAsNonRoot == false
	not pods.has_user_namespace
	violation := {
		"msg": sprintf("%v may run as root: set securityContext.runAsNonRoot to true", [pods.owners[path]]),
		"field": sprintf("%v.runAsNonRoot", [path]),
		"details": {"control": "runAsNonRoot"},
	}
}

# METADATA
# title: Every container must run as another user than root
deny contains violation if {
	not pods.spec.securityContext.runAsNonRoot == true
	some path, container in pods.containers
	pods.setting(container, ["runAsNonRoot"]) == null
	not pods.has_user_namespace
	violation := {
		"msg": sprintf(
			"%v may run as root: set securityContext.runAsNonRoot to true, on it or on the Pod",
			[pods.words(container)],
		),
		"field": sprintf("%v.securityContext.runAsNonRoot", [path]),
		"details": {"control": "runAsNonRoot"},
	}
}

# METADATA
# title: No security context sets user 0
deny contains violation if {
	some path, context in pods.contexts
	context.runAsUser == 0
	not pods.has_user_namespace
	violation := {
		"msg": sprintf(
			"%v runs as root: set securityContext.runAsUser to another user than 0, or remove it",
			[pods.owners[path]],
		),
		"field": sprintf("%v.runAsUser", [path]),
		"details": {"control": "runAsUser"},
	}
}

# METADATA
# title: Seccomp profiles confine
deny contains violation if {
	some violation in baseline.unconfined
	not pods.is_windows
}

# METADATA
# title: Every container has a seccomp profile
deny contains violation if {
	not has_profile
	some path, container in pods.containers
	pods.setting(container, ["seccompProfile"]) == null
	not pods.is_windows
	violation := {
		"msg": sprintf(
			"%v has no seccomp profile: set securityContext.seccompProfile.type to RuntimeDefault, on it or on the Pod",
			[pods.words(container)],
		),
		"field": sprintf("%v.securityContext.seccompProfile", [path]),
		"details": {"control": "seccompProfile"},
	}
}

# Of the Pod: its containers have it, too.
has_profile if pods.spec.securityContext.seccompProfile.type in baseline.profile_types

# METADATA
# title: Containers drop all capabilities
deny contains violation if {
	some path, container in pods.containers
	not drops_all(container)
	not pods.is_windows
	violation := {
		"msg": sprintf(
			"%v keeps capabilities: set securityContext.capabilities.drop to [ALL]",
			[pods.words(container)],
		),
		"field": sprintf("%v.securityContext.capabilities.drop", [path]),
		"details": {"control": "capabilities"},
	}
}

drops_all(container) if "ALL" in container.securityContext.capabilities.drop

# METADATA
# title: Containers add no capability but NET_BIND_SERVICE
deny contains violation if {
	some path, container in pods.containers
	some i, capability in container.securityContext.capabilities.add
	capability != "NET_BIND_SERVICE"
	not pods.is_windows
	violation := {
		"msg": sprintf(
			"%v adds the capability %v: remove it from securityContext.capabilities.add; only NET_BIND_SERVICE may be there",
			[pods.words(container), capability],
		),
		"field": sprintf("%v.securityContext.capabilities.add[%d]", [path, i]),
		"details": {"control": "capabilities"},
	}
}

# METADATA
# title: /proc is masked, in a user namespace as well
deny contains violation if some violation in baseline.unmasked
