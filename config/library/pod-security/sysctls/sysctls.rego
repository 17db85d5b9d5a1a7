# METADATA
# title: Pods must set safe sysctls only
# description: >-
#   Denies sysctls outside of the safe set. Control "Sysctls" of Pod Security baseline.
# related_resources:
#   - ref: https://kubernetes.io/docs/concepts/security/pod-security-standards/
#     description: Pod Security Standards
#   - ref: https://kubernetes.io/docs/tasks/administer-cluster/sysctl-cluster/
#     description: Using sysctls in a Kubernetes cluster
# custom:
#   severity: high
#   category: pod-security
#   rationale: >-
#     Other sysctls can change the behavior of the whole node, or weaken its protection.
#   remedy: Remove the sysctl from securityContext.sysctls.
#   match:
#     kinds: [{group: "", kind: Pod}]
#     subresources: [ephemeralcontainers]
#     expand: warn
package library.sysctls

import rego.v1

import data.library.shared.objects
import data.library.shared.pods

# METADATA
# title: Only safe sysctls
deny contains violation if {
	some i, sysctl in pods.spec.securityContext.sysctls
	name := objects.text(sysctl, "name")
	not name in safe
	violation := {
		"msg": sprintf("Pod %q sets the sysctl %v, which is not safe: remove it from securityContext.sysctls", [input.name, name]),
		"field": sprintf("spec.securityContext.sysctls[%d].name", [i]),
	}
}

safe := {
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
