# METADATA
# title: NetworkPolicies must not permit all sources
# description: >-
#   Denies ingress rules without sources, and those with all addresses or with all
#   namespaces.
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
#     NetworkPolicies are added to each other. One rule that permits all sources makes
#     the others ineffective for its Pods.
#   remedy: List the Pods, the namespaces or the networks of the clients in from.
#   match:
#     kinds: [{group: networking.k8s.io, kind: NetworkPolicy}]
package library.open_ingress_rules

import rego.v1

import data.library.shared.objects

# METADATA
# title: Ingress rules must have sources
deny contains violation if {
	some i, rule in objects.spec.ingress
	is_object(rule)
	object.get(rule, "from", []) in {[], null}
	violation := {
		"msg": sprintf("NetworkPolicy %q permits all sources: list them in from", [input.name]),
		"field": sprintf("spec.ingress[%d].from", [i]),
	}
}

# METADATA
# title: Sources must not be everything
deny contains violation if {
	some i, rule in objects.spec.ingress
	some j, peer in rule.from
	is_everything(peer)
	violation := {
		"msg": sprintf("NetworkPolicy %q permits all sources: list the clients in from", [input.name]),
		"field": sprintf("spec.ingress[%d].from[%d]", [i, j]),
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
