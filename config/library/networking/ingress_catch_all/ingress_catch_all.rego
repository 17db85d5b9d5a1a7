# METADATA
# title: Ingresses must name their hosts
# description: >-
#   Denies rules without a host, hosts with a wildcard, and default backends.
# related_resources:
#   - ref: https://kubernetes.io/docs/concepts/services-networking/ingress/
#     description: Ingress
# custom:
#   severity: medium
#   category: networking
#   rationale: >-
#     An Ingress without a host, or with a wildcard, receives requests for names of
#     other tenants.
#   remedy: Write the full host of each rule, and remove spec.defaultBackend.
#   match:
#     kinds: [{group: networking.k8s.io, kind: Ingress}]
package library.ingress_catch_all

import rego.v1

import data.library.shared.objects

# METADATA
# title: Rules must name their hosts
deny contains violation if {
	some i, rule in objects.spec.rules
	host := objects.text(rule, "host")
	is_open(host)
	violation := {
		"msg": sprintf("Ingress %q receives requests for every host that matches %q: write the full host", [input.name, host]),
		"field": sprintf("spec.rules[%d].host", [i]),
	}
}

# METADATA
# title: No default backends
deny contains violation if {
	is_object(objects.spec.defaultBackend)
	violation := {
		"msg": sprintf("Ingress %q receives requests for every host: replace spec.defaultBackend by a rule with a host", [input.name]),
		"field": "spec.defaultBackend",
	}
}

is_open("")

is_open(host) if startswith(host, "*")
