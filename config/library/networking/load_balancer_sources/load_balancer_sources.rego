# METADATA
# title: Load balancers must be closed for the internet
# description: >-
#   Requires loadBalancerSourceRanges on Services of type LoadBalancer, and denies
#   ranges with a prefix shorter than /8.
# related_resources:
#   - ref: https://media.defense.gov/2022/Aug/29/2003066362/-1/-1/0/CTR_KUBERNETES_HARDENING_GUIDANCE_1.2_20220829.PDF
#     description: >-
#       NSA and CISA, Kubernetes Hardening Guidance, Network separation and hardening
#   - ref: https://kubernetes.io/docs/concepts/services-networking/service/#loadbalancer
#     description: Service
# custom:
#   severity: high
#   category: networking
#   rationale: >-
#     Without source ranges, the load balancers of most providers are open for every
#     address.
#   remedy: >-
#     Set spec.loadBalancerSourceRanges to the networks of the clients. Exempt public
#     Services with a PolicyException.
#   parameters:
#     shortestSourcePrefix: the shortest prefix of a range; 8 by default
#   match:
#     kinds: [{group: "", kind: Service}]
package library.load_balancer_sources

import rego.v1

import data.library.shared.objects

# METADATA
# title: Load balancers must have source ranges
deny contains violation if {
	objects.spec.type == "LoadBalancer"
	has_new_sources
	ranges := object.get(objects.spec, "loadBalancerSourceRanges", [])
	ranges in {[], null}
	violation := {
		"msg": sprintf("Service %q is open for every address: set spec.loadBalancerSourceRanges", [input.name]),
		"field": "spec.loadBalancerSourceRanges",
	}
}

# METADATA
# title: Source ranges must not cover the internet
deny contains violation if {
	objects.spec.type == "LoadBalancer"
	has_new_sources
	some i, range in objects.spec.loadBalancerSourceRanges
	[[_, prefix]] := regex.find_all_string_submatch_n(`/(\d+)\s*$`, sprintf("%v", [range]), 1)
	to_number(prefix) < objects.parameter("shortestSourcePrefix", 8)
	violation := {
		"msg": sprintf("Service %q is open for %v: set ranges that contain the clients only", [input.name, range]),
		"field": sprintf("spec.loadBalancerSourceRanges[%d]", [i]),
	}
}

has_new_sources if {
	some field in ["type", "loadBalancerSourceRanges"]
	objects.has_changed(["spec", field])
}
