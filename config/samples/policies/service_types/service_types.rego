# METADATA
# title: Ways into and out of the cluster
# description: >-
#   A Service of type LoadBalancer or NodePort, or with externalIPs, takes traffic
#   from outside the cluster; one of type ExternalName sends it there. Each is for
#   namespaces that are named. What a Service had before the policy came stays, so
#   that its controllers can go on.
#   Parameters: serviceTypes, an object from LoadBalancer, NodePort, externalIPs and
#   ExternalName to lists of namespace globs; a missing entry permits no namespace.
# custom:
#   match:
#     kinds: [{group: "", kind: Service}]
#     operations: [CREATE, UPDATE]
package samples.service_types

import rego.v1

# METADATA
# title: Services are open to the outside where they may be
deny contains violation if {
	type := input.request.object.spec.type
	type in {"LoadBalancer", "NodePort"}
	not input.request.oldObject.spec.type == type
	not is_allowed(type)
	violation := {
		"msg": sprintf(
			"Service %q is of type %v, which is not for namespace %q: set spec.type to ClusterIP, and use an Ingress",
			[input.name, type, input.request.namespace],
		),
		"field": "spec.type",
	}
}

# METADATA
# title: Services lead outside where they may
deny contains violation if {
	spec := input.request.object.spec
	spec.type == "ExternalName"
	not is_still_named(spec.externalName)
	not is_allowed("ExternalName")
	violation := {
		"msg": sprintf(
			"Service %q is another name of %q, and ExternalName is not for namespace %q: let clients use that name itself",
			[input.name, spec.externalName, input.request.namespace],
		),
		"field": "spec.type",
	}
}

# METADATA
# title: Services take foreign addresses where they may
deny contains violation if {
	some i, address in input.request.object.spec.externalIPs
	not had_address(address)
	not is_allowed("externalIPs")
	violation := {
		"msg": sprintf(
			"Service %q takes the traffic to %v, and externalIPs are not for namespace %q: remove it from spec.externalIPs",
			[input.name, address, input.request.namespace],
		),
		"field": sprintf("spec.externalIPs[%d]", [i]),
	}
}

is_allowed(way) if {
	some namespace in input.parameters.serviceTypes[way]
	glob.match(namespace, [], input.request.namespace)
}

is_still_named(name) if {
	old := input.request.oldObject.spec
	old.type == "ExternalName"
	old.externalName == name
}

# A helper, because `not address in input.request.oldObject…` is undefined where there is no
# former object.
had_address(address) if address in input.request.oldObject.spec.externalIPs
