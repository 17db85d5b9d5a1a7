# METADATA
# title: Secrets must not contain tokens without an end
# description: Denies Secrets of type kubernetes.io/service-account-token.
# related_resources:
#   - ref: https://media.defense.gov/2022/Aug/29/2003066362/-1/-1/0/CTR_KUBERNETES_HARDENING_GUIDANCE_1.2_20220829.PDF
#     description: >-
#       NSA and CISA, Kubernetes Hardening Guidance, Authentication and authorization
#   - ref: https://kubernetes.io/docs/concepts/security/service-accounts/
#     description: Service accounts
# custom:
#   severity: high
#   category: access
#   rationale: >-
#     The token of such a Secret is valid until the Secret is deleted. Tokens that the
#     kubelet mounts expire.
#   remedy: Mount a projected token, or create one with kubectl create token.
#   match:
#     kinds: [{group: "", kind: Secret}]
package library.long_lived_tokens

import rego.v1

import data.library.shared.objects

# METADATA
# title: Secrets must not contain tokens without an end
deny contains violation if {
	objects.has_changed(["type"])
	input.request.object.type == "kubernetes.io/service-account-token"
	violation := {
		"msg": sprintf("Secret %q contains a token that does not expire: use projected tokens, or kubectl create token", [input.name]),
		"field": "type",
	}
}
