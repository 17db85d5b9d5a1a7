# METADATA
# title: Ingresses must use TLS for all hosts
# description: >-
#   Requires each host of the rules to be in spec.tls. A wildcard host of spec.tls
#   covers the names directly below it.
# related_resources:
#   - ref: https://media.defense.gov/2022/Aug/29/2003066362/-1/-1/0/CTR_KUBERNETES_HARDENING_GUIDANCE_1.2_20220829.PDF
#     description: >-
#       NSA and CISA, Kubernetes Hardening Guidance, Network separation and hardening
#   - ref: https://kubernetes.io/docs/concepts/services-networking/ingress/#tls
#     description: Ingress
# custom:
#   severity: high
#   category: networking
#   rationale: >-
#     Without TLS, everyone on the path reads and changes requests, with passwords and
#     session cookies.
#   remedy: Add the host, with a Secret that has a certificate, to spec.tls.
#   match:
#     kinds: [{group: networking.k8s.io, kind: Ingress}]
package library.ingress_tls

import rego.v1

import data.library.shared.objects

# METADATA
# title: Ingresses must use TLS for all hosts
deny contains violation if {
	some i, rule in objects.spec.rules
	host := objects.text(rule, "host")
	not covered(host)
	violation := {
		"msg": sprintf("Ingress %q serves host %q without TLS: add it to spec.tls", [input.name, host]),
		"field": sprintf("spec.rules[%d].host", [i]),
	}
}

# METADATA
# title: Default backends must use TLS
deny contains violation if {
	is_object(objects.spec.defaultBackend)
	not has_tls
	violation := {
		"msg": sprintf("Ingress %q serves its default backend without TLS: add spec.tls", [input.name]),
		"field": "spec.defaultBackend",
	}
}

has_tls if {
	some _ in objects.spec.tls
}

covered(host) if {
	some tls in objects.spec.tls
	some name in tls.hosts
	covers(name, host)
}

# An entry without hosts covers all hosts of the Ingress.
covered(_) if {
	some tls in objects.spec.tls
	is_object(tls)
	object.get(tls, "hosts", []) in {[], null}
}

covers(host, host)

covers(name, host) if {
	is_string(name)
	startswith(name, "*.")
	parts := split(host, ".")
	concat(".", array.concat(["*"], array.slice(parts, 1, count(parts)))) == name
}
