# METADATA
# title: Services must not be names of other hosts
# description: >-
#   Denies Services of type ExternalName, except for the parameter allowedExternalNames.
# related_resources:
#   - ref: https://kubernetes.io/docs/concepts/services-networking/service/#externalname
#     description: Service
# custom:
#   severity: medium
#   category: networking
#   rationale: >-
#     Ingress controllers follow such a Service to services in other namespaces, to the
#     API server or to the node, past NetworkPolicies.
#   remedy: >-
#     Use the name of the host in the program, or a Service without a selector and an
#     EndpointSlice.
#   parameters:
#     allowedExternalNames: names that are permitted; none by default
#   match:
#     kinds: [{group: "", kind: Service}]
package library.external_name_services

import rego.v1

import data.library.shared.objects

# METADATA
# title: Services must not be names of other hosts
deny contains violation if {
	objects.spec.type == "ExternalName"
	name := objects.text(objects.spec, "externalName")
	not name in objects.parameter("allowedExternalNames", [])
	violation := {
		"msg": sprintf("Service %q is a name of host %q: use the name of the host itself", [input.name, name]),
		"field": "spec.externalName",
	}
}
