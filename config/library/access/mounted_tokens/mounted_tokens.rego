# METADATA
# title: Pods must not mount tokens that they do not need
# description: >-
#   Requires automountServiceAccountToken of the Pod to be false. The setting of its
#   ServiceAccount is not read. Pods that use the Kubernetes API mount a token with a
#   projected volume, which states its audience and lifetime.
# related_resources:
#   - ref: https://www.cisecurity.org/benchmark/kubernetes
#     description: CIS Kubernetes Benchmark, recommendation 5.1.6
#   - ref: https://media.defense.gov/2022/Aug/29/2003066362/-1/-1/0/CTR_KUBERNETES_HARDENING_GUIDANCE_1.2_20220829.PDF
#     description: >-
#       NSA and CISA, Kubernetes Hardening Guidance, Authentication and authorization
# custom:
#   severity: medium
#   category: access
#   rationale: >-
#     An attacker in a Pod uses its token to call the API server. Most Pods do not need
#     one.
#   remedy: Set spec.automountServiceAccountToken to false.
#   match:
#     kinds: [{group: "", kind: Pod}]
#     expand: warn
package library.mounted_tokens

import rego.v1

import data.library.shared.pods

# METADATA
# title: Pods must not mount tokens that they do not need
deny contains violation if {
	object.get(pods.spec, "automountServiceAccountToken", null) != false
	violation := {
		"msg": sprintf("Pod %q mounts a token of its ServiceAccount: set spec.automountServiceAccountToken to false", [input.name]),
		"field": "spec.automountServiceAccountToken",
	}
}
