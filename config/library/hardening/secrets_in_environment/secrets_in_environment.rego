# METADATA
# title: Secrets must be files, not environment variables
# description: >-
#   Denies environment variables that come from Secrets, by secretKeyRef and by
#   secretRef of envFrom.
# related_resources:
#   - ref: https://www.cisecurity.org/benchmark/kubernetes
#     description: CIS Kubernetes Benchmark, recommendation 5.4.1
#   - ref: https://media.defense.gov/2022/Aug/29/2003066362/-1/-1/0/CTR_KUBERNETES_HARDENING_GUIDANCE_1.2_20220829.PDF
#     description: >-
#       NSA and CISA, Kubernetes Hardening Guidance, Authentication and authorization
# custom:
#   severity: medium
#   category: hardening
#   rationale: >-
#     Environment variables appear in crash reports, in child processes and in the
#     output of debugging tools.
#   remedy: Mount the Secret as a volume.
#   match:
#     kinds: [{group: "", kind: Pod}]
#     subresources: [ephemeralcontainers]
#     expand: warn
package library.secrets_in_environment

import rego.v1

import data.library.shared.objects
import data.library.shared.pods

# METADATA
# title: No variables of Secrets
deny contains violation if {
	some path, container in pods.containers
	some i, variable in container.env
	is_object(variable.valueFrom.secretKeyRef)
	violation := {
		"msg": sprintf("%v has the value of a Secret in variable %v: mount the Secret", [pods.describe(container), objects.text(variable, "name")]),
		"field": sprintf("%v.env[%d].valueFrom.secretKeyRef", [path, i]),
	}
}

# METADATA
# title: No variables of all keys of a Secret
deny contains violation if {
	some path, container in pods.containers
	some i, source in container.envFrom
	is_object(source.secretRef)
	violation := {
		"msg": sprintf("%v has all values of Secret %q in variables: mount the Secret", [pods.describe(container), objects.text(source.secretRef, "name")]),
		"field": sprintf("%v.envFrom[%d].secretRef", [path, i]),
	}
}
