# METADATA
# title: Services must share load balancers
# description: >-
#   Denies Services of type LoadBalancer outside of the namespaces of the parameter
#   loadBalancerNamespaces.
# related_resources:
#   - ref: https://kubernetes.io/docs/concepts/services-networking/gateway/
#     description: Gateway API
# custom:
#   severity: low
#   category: cost
#   rationale: >-
#     Most providers bill each load balancer. An Ingress or a Gateway serves many
#     Services with one.
#   remedy: Use an Ingress or a Gateway, or add the namespace to the parameter.
#   parameters:
#     loadBalancerNamespaces: >-
#       names and globs of namespaces; ["ingress-*", "gateway-*"] by default
#   match:
#     kinds: [{group: "", kind: Service}]
package library.load_balancer_services

import rego.v1

import data.library.shared.objects

# METADATA
# title: Services must share load balancers
deny contains violation if {
	objects.has_changed(["spec", "type"])
	objects.spec.type == "LoadBalancer"
	not is_permitted
	violation := {
		"msg": sprintf("Service %q starts a load balancer of its own: use an Ingress or a Gateway", [input.name]),
		"field": "spec.type",
	}
}

is_permitted if {
	some pattern in objects.parameter("loadBalancerNamespaces", ["ingress-*", "gateway-*"])
	glob.match(pattern, null, input.request.namespace)
}
