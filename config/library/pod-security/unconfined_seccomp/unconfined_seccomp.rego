# METADATA
# title: Seccomp profiles must not be Unconfined
# description: >-
#   Denies the profile Unconfined and unknown profiles. Control "Seccomp" of Pod
#   Security baseline.
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
#   remedy: >-
#     Set securityContext.seccompProfile.type to RuntimeDefault or Localhost, or remove
#     the profile.
#   match:
#     kinds: [{group: "", kind: Pod}]
#     subresources: [ephemeralcontainers]
#     expand: warn
package library.unconfined_seccomp

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
	not type in {"RuntimeDefault", "Localhost"}
	violation := {
		"msg": sprintf(
			"%v has the seccomp profile %q: set securityContext.seccompProfile.type to RuntimeDefault or Localhost",
			[pods.owner(path), type],
		),
		"field": sprintf("%v.seccompProfile.type", [path]),
	}
}
