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

deny contains problem if some problem in values.ids(spec, "groupIDs")

deny contains {"field": field, "msg": msg} if {
	namespace := spec.routingPeerRef.namespace
	not regex.match(`^([a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?)?$`, namespace)
	field := "spec.routingPeerRef.namespace"
	msg := sprintf("%s: Invalid value %q: must be the name of a namespace, such as network-team", [field, namespace])
}

deny contains values.needed(sprintf("spec.%s.name", [key]), sprintf(": name the %s of this namespace", [kind])) if {
	some key, kind in {"routingPeerRef": "OZRoutingPeer", "serviceRef": "Service"}
	values.blank(object.get(spec, [key, "name"], ""))
}

warn contains "spec.groups: there are none, so no policy leads to the resource" if {
	count(object.get(spec, "groups", [])) == 0
	count(object.get(spec, "groupIDs", [])) == 0
}
