# METADATA
# title: Manifests must not contain credentials
# description: >-
#   Denies environment variables with a literal value whose names are those of
#   credentials.
# related_resources:
#   - ref: https://media.defense.gov/2022/Aug/29/2003066362/-1/-1/0/CTR_KUBERNETES_HARDENING_GUIDANCE_1.2_20220829.PDF
#     description: >-
#       NSA and CISA, Kubernetes Hardening Guidance, Authentication and authorization
#   - ref: https://www.cisecurity.org/benchmark/kubernetes
#     description: CIS Kubernetes Benchmark, recommendation 5.4.1
# custom:
#   severity: high
#   category: hardening
#   rationale: >-
#     A credential in a manifest is readable for each user who can read Pods, and is
#     often in version control, too.
#   remedy: Move the value to a Secret, and mount it.
#   parameters:
#     credentialNames: >-
#       regular expressions for names of variables; names that end in PASSWORD, TOKEN,
#       API_KEY, SECRET_KEY, SECRET_ACCESS_KEY or PRIVATE_KEY by default
#   match:
#     kinds: [{group: "", kind: Pod}]
#     subresources: [ephemeralcontainers]
#     expand: warn
package library.literal_credentials

import rego.v1

import data.library.shared.objects
import data.library.shared.pods

# METADATA
# title: Manifests must not contain credentials
deny contains violation if {
	some path, container in pods.containers
	some i, variable in container.env
	objects.text(variable, "value") != ""
	some pattern in objects.parameter("credentialNames", [`(^|_)(PASSWORD|TOKEN|API_KEY|SECRET_KEY|SECRET_ACCESS_KEY|PRIVATE_KEY)$`])
	regex.match(pattern, upper(objects.text(variable, "name")))
	violation := {
		"msg": sprintf("%v has a credential in variable %v: move its value to a Secret", [pods.describe(container), variable.name]),
		"field": sprintf("%v.env[%d].value", [path, i]),
	}
}
