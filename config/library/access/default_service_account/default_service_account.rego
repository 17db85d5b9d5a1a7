# METADATA
# title: Pods that mount a token must have a ServiceAccount of their own
# description: >-
#   Denies Pods that mount a token of the ServiceAccount default. The setting
#   automountServiceAccountToken of the ServiceAccount is not read.
# related_resources:
#   - ref: https://www.cisecurity.org/benchmark/kubernetes
#     description: CIS Kubernetes Benchmark, recommendation 5.1.5
# custom:
#   severity: medium
#   category: access
#   rationale: >-
#     A permission that is granted to the ServiceAccount default for one Pod is
#     available to all Pods without a ServiceAccount of their own.
#   remedy: >-
#     Create a ServiceAccount and set spec.serviceAccountName, or set
#     spec.automountServiceAccountToken to false.
#   match:
#     kinds: [{group: "", kind: Pod}]
#     expand: warn
package library.default_service_account

import rego.v1

import data.library.shared.pods

# METADATA
# title: Pods that mount a token must have a ServiceAccount of their own
deny contains violation if {
	object.get(pods.spec, "automountServiceAccountToken", null) != false
	object.get(pods.spec, "serviceAccountName", "") in {"", "default", null}
	violation := {
		"msg": sprintf(
			"Pod %q mounts a token of the ServiceAccount default: set spec.serviceAccountName to one of its own",
			[input.name],
		),
		"field": "spec.serviceAccountName",
	}
}
