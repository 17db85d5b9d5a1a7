# METADATA
# title: Windows Pods must not have HostProcess containers
# description: >-
#   Denies windowsOptions.hostProcess, on the Pod and on its containers. Control
#   "HostProcess" of Pod Security baseline.
# related_resources:
#   - ref: https://kubernetes.io/docs/concepts/security/pod-security-standards/
#     description: Pod Security Standards
#   - ref: https://www.cisecurity.org/benchmark/kubernetes
#     description: CIS Kubernetes Benchmark, recommendation 5.2.11
# custom:
#   severity: critical
#   category: pod-security
#   rationale: >-
#     A HostProcess container is a process of the Windows node, with access to its
#     files, network and credentials.
#   remedy: Remove securityContext.windowsOptions.hostProcess.
#   match:
#     kinds: [{group: "", kind: Pod}]
#     subresources: [ephemeralcontainers]
#     expand: warn
package library.host_process

import rego.v1

import data.library.shared.pods

# METADATA
# title: No HostProcess containers
deny contains violation if {
	some path, context in pods.contexts
	context.windowsOptions.hostProcess == true
	violation := {
		"msg": sprintf("%v is a process of its node: remove securityContext.windowsOptions.hostProcess", [pods.owner(path)]),
		"field": sprintf("%v.windowsOptions.hostProcess", [path]),
	}
}
