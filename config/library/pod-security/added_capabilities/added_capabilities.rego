# METADATA
# title: Containers must not add capabilities beyond the default set
# description: >-
#   Denies capabilities outside of the set that container runtimes grant by default.
#   Control "Capabilities" of Pod Security baseline.
# related_resources:
#   - ref: https://kubernetes.io/docs/concepts/security/pod-security-standards/
#     description: Pod Security Standards
#   - ref: https://www.cisecurity.org/benchmark/kubernetes
#     description: CIS Kubernetes Benchmark, recommendation 5.2.9
#   - ref: https://media.defense.gov/2022/Aug/29/2003066362/-1/-1/0/CTR_KUBERNETES_HARDENING_GUIDANCE_1.2_20220829.PDF
#     description: NSA and CISA, Kubernetes Hardening Guidance, Pod security
# custom:
#   severity: high
#   category: pod-security
#   rationale: >-
#     Capabilities such as SYS_ADMIN or NET_ADMIN permit most of what the user root of
#     the node can do.
#   remedy: Remove the capability from securityContext.capabilities.add.
#   match:
#     kinds: [{group: "", kind: Pod}]
#     subresources: [ephemeralcontainers]
#     expand: warn
package library.added_capabilities

import rego.v1

import data.library.shared.pods

# METADATA
# title: Only capabilities of the default set
deny contains violation if {
	some path, container in pods.containers
	some i, capability in container.securityContext.capabilities.add
	not capability in default_set
	violation := {
		"msg": sprintf(
			"%v adds the capability %v: remove it from securityContext.capabilities.add",
			[pods.describe(container), capability],
		),
		"field": sprintf("%v.securityContext.capabilities.add[%d]", [path, i]),
	}
}

default_set := {
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
