# METADATA
# title: Containers must have a seccomp profile
# description: >-
#   Requires the profile RuntimeDefault or Localhost on the Pod or on each container,
#   except in Pods for Windows. Control "Seccomp" of Pod Security restricted.
# related_resources:
#   - ref: https://kubernetes.io/docs/concepts/security/pod-security-standards/
#     description: Pod Security Standards
#   - ref: https://www.cisecurity.org/benchmark/kubernetes
#     description: CIS Kubernetes Benchmark, recommendation 5.7.2
#   - ref: https://media.defense.gov/2022/Aug/29/2003066362/-1/-1/0/CTR_KUBERNETES_HARDENING_GUIDANCE_1.2_20220829.PDF
#     description: NSA and CISA, Kubernetes Hardening Guidance, Pod security
# custom:
#   severity: high
#   category: pod-security
#   rationale: >-
#     Without a seccomp profile, a container can use every system call, including those
#     with frequent vulnerabilities.
#   remedy: Set securityContext.seccompProfile.type to RuntimeDefault on the Pod.
#   match:
#     kinds: [{group: "", kind: Pod}]
#     subresources: [ephemeralcontainers]
#     expand: warn
package library.seccomp_profiles

import rego.v1

import data.library.shared.objects
import data.library.shared.pods

# METADATA
# title: Seccomp profiles confine
deny contains violation if {
	some path, context in pods.contexts
	profile := context.seccompProfile
	is_object(profile)
	type := objects.text(profile, "type")
	not type in confining
	not pods.is_windows
	violation := {
		"msg": sprintf(
			"%v has the seccomp profile %q: set securityContext.seccompProfile.type to RuntimeDefault or Localhost",
			[pods.owner(path), type],
		),
		"field": sprintf("%v.seccompProfile.type", [path]),
	}
}

# METADATA
# title: Each container has a profile, or its Pod
deny contains violation if {
	not pod_has_profile
	some path, container in pods.containers
	pods.setting(container, "seccompProfile") == null
	not pods.is_windows
	violation := {
		"msg": sprintf(
			"%v has no seccomp profile: set securityContext.seccompProfile.type to RuntimeDefault on the container or on the Pod",
			[pods.describe(container)],
		),
		"field": sprintf("%v.securityContext.seccompProfile", [path]),
	}
}

pod_has_profile if pods.spec.securityContext.seccompProfile.type in confining

confining := {"RuntimeDefault", "Localhost"}
