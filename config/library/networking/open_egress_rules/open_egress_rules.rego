# METADATA
# title: NetworkPolicies must not permit all destinations
# description: >-
#   Denies egress rules without destinations, and those with all addresses or with all
#   namespaces, unless they are limited to ports of DNS.
# related_resources:
#   - ref: https://www.cisecurity.org/benchmark/kubernetes
#     description: CIS Kubernetes Benchmark, recommendation 5.3.2
#   - ref: https://media.defense.gov/2022/Aug/29/2003066362/-1/-1/0/CTR_KUBERNETES_HARDENING_GUIDANCE_1.2_20220829.PDF
#     description: >-
#       NSA and CISA, Kubernetes Hardening Guidance, Network separation and hardening
#   - ref: https://kubernetes.io/docs/concepts/services-networking/network-policies/
#     description: Network Policies
# custom:
#   severity: medium
#   category: networking
#   rationale: >-
#     An attacker in a Pod can load tools and send data to every address. Clouds also
#     serve credentials of the node at a fixed address.
#   remedy: List the Pods, the namespaces or the networks of the servers in to.
#   match:
#     kinds: [{group: networking.k8s.io, kind: NetworkPolicy}]
package library.open_egress_rules

import rego.v1

import data.library.shared.objects

# METADATA
# title: Egress rules must have destinations
deny contains violation if {
	some i, rule in objects.spec.egress
	is_object(rule)
	object.get(rule, "to", []) in {[], null}
	not is_dns(rule)
	violation := {
		"msg": sprintf("NetworkPolicy %q permits all destinations: list them in to", [input.name]),
		"field": sprintf("spec.egress[%d].to", [i]),
	}
}

# METADATA
# title: Destinations must not be everything
deny contains violation if {
	some i, rule in objects.spec.egress
	not is_dns(rule)
	some j, peer in rule.to
	is_everything(peer)
	violation := {
		"msg": sprintf("NetworkPolicy %q permits all destinations: list the servers in to", [input.name]),
		"field": sprintf("spec.egress[%d].to[%d]", [i, j]),
	}
}

is_dns(rule) if {
	is_array(rule.ports)
	count(rule.ports) > 0
	every port in rule.ports {
		port.port == 53
		object.get(port, "endPort", 53) in {53, null}
	}
}

is_everything(peer) if {
	peer.ipBlock.cidr in {"0.0.0.0/0", "::/0"}
	object.get(peer.ipBlock, "except", []) in {[], null}
}

is_everything(peer) if {
	peer.namespaceSelector == {}
	object.get(peer, "podSelector", {}) in [{}, null]
}
