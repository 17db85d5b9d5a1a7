# METADATA
# title: Services must not use ports of nodes
# description: >-
#   Denies Services of type NodePort, and node ports of Services of type LoadBalancer
#   that can do without them.
# related_resources:
#   - ref: https://media.defense.gov/2022/Aug/29/2003066362/-1/-1/0/CTR_KUBERNETES_HARDENING_GUIDANCE_1.2_20220829.PDF
#     description: >-
#       NSA and CISA, Kubernetes Hardening Guidance, Network separation and hardening
# custom:
#   severity: medium
#   category: networking
#   rationale: >-
#     A node port is open on every node, past load balancers, their firewalls and their
#     TLS.
#   remedy: >-
#     Use an Ingress or a Gateway. Set allocateLoadBalancerNodePorts to false if the
#     load balancer supports it.
#   parameters:
#     loadBalancerNodePorts: >-
#       false also denies Services of type LoadBalancer that allocate node ports; true
#       by default
#   match:
#     kinds: [{group: "", kind: Service}]
package library.node_port_services

import rego.v1

import data.library.shared.objects

# METADATA
# title: Services must not be of type NodePort
deny contains violation if {
	objects.has_changed(["spec", "type"])
	objects.spec.type == "NodePort"
	violation := {
		"msg": sprintf("Service %q opens a port of every node: use an Ingress or a Gateway", [input.name]),
		"field": "spec.type",
	}
}

# METADATA
# title: Load balancers must not need node ports
deny contains violation if {
	objects.spec.type == "LoadBalancer"
	objects.parameter("loadBalancerNodePorts", true) == false
	some field in ["type", "allocateLoadBalancerNodePorts"]
	objects.has_changed(["spec", field])
	object.get(objects.spec, "allocateLoadBalancerNodePorts", true) != false
	violation := {
		"msg": sprintf("Service %q opens a port of every node: set spec.allocateLoadBalancerNodePorts to false", [input.name]),
		"field": "spec.allocateLoadBalancerNodePorts",
	}
}
