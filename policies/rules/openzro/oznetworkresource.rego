# METADATA
# title: OZNetworkResources are what the server takes
# custom:
#   match:
#     kinds: [{group: openzro.io, version: v1, kind: OZNetworkResource}]
#     operations: [CREATE, UPDATE]
#   timeout: 1s
package openzro.oznetworkresource

import rego.v1

import data.openzro.values

spec := object.get(input.request.object, "spec", {})

deny contains problem if some problem in values.names(spec, "groups")

deny contains values.needed(sprintf("spec.%s.name", [key]), sprintf(": name the %s of this namespace", [kind])) if {
	some key, kind in {"routingPeerRef": "OZRoutingPeer", "serviceRef": "Service"}
	values.blank(object.get(spec, [key, "name"], ""))
}

warn contains "spec.groups: there are none, so no policy leads to the resource" if count(object.get(spec, "groups", [])) == 0
