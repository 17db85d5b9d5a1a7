# METADATA
# title: Pod Security Standard, baseline
# description: >-
#   What gives a Pod power over its node, each control of the Kubernetes Pod
#   Security Standard of this name as of Kubernetes 1.36. Set match.namespaces to
#   yours. The resize subresource is not asked about: it changes resources only.
# custom:
#   match:
#     kinds: [{group: "", kind: Pod}]
#     operations: [CREATE, UPDATE]
#     subresources: [ephemeralcontainers]
#     namespaces: ["baseline-*"]
#     expand: warn
package samples.pod_security_baseline

import rego.v1

import data.samples.pods

# METADATA
# title: No HostProcess containers
deny contains violation if {
	some path, context in pods.contexts
	context.windowsOptions.hostProcess == true
	violation := {
		"msg": sprintf(
			"%v is a process of its Windows node: remove securityContext.windowsOptions.hostProcess",
			[pods.owners[path]],
		),
		"field": sprintf("%v.windowsOptions.hostProcess", [path]),
		"details": {"control": "windowsHostProcess"},
	}
}

# METADATA
# title: No namespaces of the node
deny contains violation if {
	some field in ["hostNetwork", "hostPID", "hostIPC"]
	pods.spec[field] == true
	violation := {
		"msg": sprintf("Pod %q shares a namespace with its node: remove spec.%v", [input.name, field]),
		"field": sprintf("spec.%v", [field]),
		"details": {"control": "hostNamespaces"},
	}
}

# METADATA
# title: No privileged containers
deny contains violation if {
	some path, container in pods.containers
	container.securityContext.privileged == true
	violation := {
		"msg": sprintf("%v is privileged: remove securityContext.privileged", [pods.words(container)]),
		"field": sprintf("%v.securityContext.privileged", [path]),
		"details": {"control": "privileged"},
	}
}

# METADATA
# title: Only capabilities that containers have anyway
deny contains violation if {
	some path, container in pods.containers
	some i, capability in container.securityContext.capabilities.add
	not capability in capabilities
	violation := {
		"msg": sprintf(
			"%v adds the capability %v: remove it from securityContext.capabilities.add",
			[pods.words(container), capability],
		),
		"field": sprintf("%v.securityContext.capabilities.add[%d]", [path, i]),
		"details": {"control": "capabilities"},
	}
}

capabilities := {
	"AUDIT_WRITE",
	"CHOWN",
	"DAC_OVERRIDE",
	"FOWNER",
	"FSETID",
	"KILL",
	"MKNOD",
	"NET_BIND_SERVICE",
	"SETFCAP",
	"SETGID",
	"SETPCAP",
	"SETUID",
	"SYS_CHROOT",
}

# METADATA
# title: No paths of the node
deny contains violation if {
	some i, volume in pods.spec.volumes
	is_object(volume.hostPath)
	violation := {
		"msg": sprintf(
			"volume %q of Pod %q is a path of its node: use a persistentVolumeClaim or an emptyDir instead of hostPath",
			[pods.name(volume), input.name],
		),
		"field": sprintf("spec.volumes[%d].hostPath", [i]),
		"details": {"control": "hostPathVolumes"},
	}
}

# METADATA
# title: No ports of the node
deny contains violation if {
	some path, container in pods.containers
	some i, port in container.ports
	number := port.hostPort
	not number in {0, null}
	violation := {
		"msg": sprintf(
			"%v takes port %d of its node: remove ports[%d].hostPort, and use a Service",
			[pods.words(container), number, i],
		),
		"field": sprintf("%v.ports[%d].hostPort", [path, i]),
		"details": {"control": "hostPorts"},
	}
}

# METADATA
# title: Probes call no other host
deny contains violation if {
	some path, container in pods.containers
	some probe in ["livenessProbe", "readinessProbe", "startupProbe"]
	handler := container[probe]
	some action, host in hosts_of(handler)
	violation := calls_host(path, container, concat(".", [probe, action, "host"]), host)
}

# METADATA
# title: Lifecycle hooks call no other host
deny contains violation if {
	some path, container in pods.containers
	some hook in ["postStart", "preStop"]
	handler := container.lifecycle[hook]
	some action, host in hosts_of(handler)
	violation := calls_host(path, container, concat(".", ["lifecycle", hook, action, "host"]), host)
}

hosts_of(handler) := {action: host |
	some action in ["httpGet", "tcpSocket"]
	host := handler[action].host
	not host in {"", null}
}

calls_host(path, container, place, host) := {
	"msg": sprintf(
		"%v has its node call host %q: remove %v, so that the container itself is called",
		[pods.words(container), host, place],
	),
	"field": sprintf("%v.%v", [path, place]),
	"details": {"control": "hostProbesAndHostLifecycle"},
}

# METADATA
# title: AppArmor profiles confine
deny contains violation if {
	some path, context in pods.contexts
	profile := context.appArmorProfile
	is_object(profile)
	not profile_type(profile) in profile_types
	violation := {
		"msg": sprintf(
			"%v has the AppArmor profile %q: set securityContext.appArmorProfile.type to RuntimeDefault or Localhost",
			[pods.owners[path], profile_type(profile)],
		),
		"field": sprintf("%v.appArmorProfile.type", [path]),
		"details": {"control": "appArmorProfile"},
	}
}

# METADATA
# title: AppArmor profiles of older clusters confine
deny contains violation if {
	pods.spec
	some key, profile in input.request.object.metadata.annotations
	startswith(key, "container.apparmor.security.beta.kubernetes.io/")
	not is_confining(profile)
	violation := {
		"msg": sprintf(
			"Pod %q has the AppArmor profile %q: set annotation %v to runtime/default or localhost/<profile>",
			[input.name, profile, key],
		),
		"field": sprintf("metadata.annotations[%q]", [key]),
		"details": {"control": "appArmorProfile"},
	}
}

is_confining(profile) if profile in {"", "runtime/default"}

is_confining(profile) if startswith(profile, "localhost/")

# METADATA
# title: SELinux types are those of containers
deny contains violation if {
	some path, context in pods.contexts
	type := context.seLinuxOptions.type
	not type in {null, "", "container_t", "container_init_t", "container_kvm_t", "container_engine_t"}
	violation := {
		"msg": sprintf(
			"%v has the SELinux type %q: remove securityContext.seLinuxOptions.type, or set it to container_t",
			[pods.owners[path], type],
		),
		"field": sprintf("%v.seLinuxOptions.type", [path]),
		"details": {"control": "seLinuxOptions"},
	}
}

# METADATA
# title: SELinux users and roles are not chosen
deny contains violation if {
	some path, context in pods.contexts
	options := context.seLinuxOptions
	some field in ["user", "role"]
	not options[field] in {null, ""}
	violation := {
		"msg": sprintf("%v chooses its SELinux %v: remove securityContext.seLinuxOptions.%v", [
			pods.owners[path],
			field,
			field,
		]),
		"field": sprintf("%v.seLinuxOptions.%v", [path, field]),
		"details": {"control": "seLinuxOptions"},
	}
}

# METADATA
# title: /proc is masked
deny contains violation if {
	some violation in unmasked
	not pods.has_user_namespace
}

# METADATA
# title: Containers whose /proc is not masked
# description: A Pod in a user namespace may have some, but not under the restricted standard.
unmasked contains violation if {
	some path, container in pods.containers
	mount := container.securityContext.procMount
	not mount in {null, "Default"}
	violation := {
		"msg": sprintf("%v sees /proc of its node: remove securityContext.procMount, which is %q", [
			pods.words(container),
			mount,
		]),
		"field": sprintf("%v.securityContext.procMount", [path]),
		"details": {"control": "procMount"},
	}
}

# METADATA
# title: Seccomp profiles confine
deny contains violation if some violation in unconfined

# METADATA
# title: Seccomp profiles that do not confine
unconfined contains violation if {
	some path, context in pods.contexts
	profile := context.seccompProfile
	is_object(profile)
	not profile_type(profile) in profile_types
	violation := {
		"msg": sprintf(
			"%v has the seccomp profile %q: set securityContext.seccompProfile.type to RuntimeDefault or Localhost",
			[pods.owners[path], profile_type(profile)],
		),
		"field": sprintf("%v.seccompProfile.type", [path]),
		"details": {"control": "seccompProfile"},
	}
}

# METADATA
# title: Types of profile that confine
profile_types := {"RuntimeDefault", "Localhost"}

# METADATA
# title: The type of a profile
profile_type(profile) := object.get(profile, "type", "")

# METADATA
# title: Only sysctls that stay within the Pod
deny contains violation if {
	some i, sysctl in pods.spec.securityContext.sysctls
	not pods.name(sysctl) in sysctls
	violation := {
		"msg": sprintf(
			"Pod %q sets the sysctl %v, which may reach beyond it: remove it from securityContext.sysctls",
			[input.name, pods.name(sysctl)],
		),
		"field": sprintf("spec.securityContext.sysctls[%d].name", [i]),
		"details": {"control": "sysctls"},
	}
}

sysctls := {
	"kernel.shm_rmid_forced",
	"net.ipv4.ip_local_port_range",
	"net.ipv4.ip_local_reserved_ports",
	"net.ipv4.ip_unprivileged_port_start",
	"net.ipv4.ping_group_range",
	"net.ipv4.tcp_fin_timeout",
	"net.ipv4.tcp_keepalive_intvl",
	"net.ipv4.tcp_keepalive_probes",
	"net.ipv4.tcp_keepalive_time",
	"net.ipv4.tcp_rmem",
	"net.ipv4.tcp_syncookies",
	"net.ipv4.tcp_wmem",
}
