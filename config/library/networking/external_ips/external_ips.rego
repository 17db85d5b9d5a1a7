# METADATA
# title: Services must not have external IPs
# description: Denies spec.externalIPs of Services.
# related_resources:
#   - ref: https://github.com/kubernetes/kubernetes/issues/97076
#     description: CVE-2020-8554
# custom:
#   severity: high
#   category: networking
#   rationale: >-
#     A tenant who sets external IPs receives the traffic of the cluster to these
#     addresses (CVE-2020-8554).
#   remedy: Use a Service of type LoadBalancer.
#   parameters:
#     allowedExternalIPs: addresses that are permitted; none by default
#   match:
#     kinds: [{group: "", kind: Service}]
package library.external_ips

import rego.v1

import data.library.shared.objects

# METADATA
# title: Services must not have external IPs
deny contains violation if {
	objects.has_changed(["spec", "externalIPs"])
	some i, address in objects.spec.externalIPs
	not address in objects.parameter("allowedExternalIPs", [])
	violation := {
		"msg": sprintf("Service %q takes the traffic to %v: remove it from spec.externalIPs", [input.name, address]),
		"field": sprintf("spec.externalIPs[%d]", [i]),
	}
}
