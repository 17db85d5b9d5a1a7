# METADATA
# title: OZResources are what the server takes
# custom:
#   match:
#     kinds: [{group: openzro.io, version: v1, kind: OZResource}]
#     operations: [CREATE, UPDATE]
#   timeout: 1s
package openzro.ozresource

import rego.v1

import data.openzro.values

spec := object.get(input.request.object, "spec", {})

purposes := {"name": ": it is the name of the resource at the server", "networkID": ": it is the ID of the network at the server, such as in status.networkID of an OZRoutingPeer"}

deny contains values.needed(sprintf("spec.%s", [key]), why) if {
	some key, why in purposes
	values.blank(object.get(spec, key, ""))
}

deny contains problem if some problem in values.taken("spec.name", spec.name)

deny contains {"field": "spec.address", "msg": msg} if {
	address := object.get(spec, "address", "")
	not is_address(address)
	msg := sprintf("spec.address: %q is not a host such as 10.0.0.1, no subnet such as 10.0.0.0/24, and no domain such as db.example.com or *.example.com", [address])
}

is_address(text) if values.is_host(text)

is_address(text) if values.is_subnet(text)

is_address(text) if values.is_domain(text)

deny contains problem if {
	some key in ["groups", "policySourceGroups"]
	some problem in values.names(spec, key)
}

deny contains problem if {
	some key in ["tcpPorts", "udpPorts"]
	some problem in values.ports(spec, key)
}

policies := [name |
	some text in split(object.get(spec, "policyName", ""), ",")
	name := trim_space(text)
]

named if not values.blank(object.get(spec, "policyName", ""))

deny contains {"field": "spec.policyName", "msg": msg} if {
	named
	some name in policies
	not regex.match(`^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$`, name)
	msg := sprintf("spec.policyName: %q is not a name of an OZPolicy; use names of OZPolicies, separated by commas", [name])
}

deny contains {"field": "spec.policyName", "msg": msg} if {
	some name in values.repeated(policies)
	msg := sprintf("spec.policyName: %q occurs twice; remove one of them", [name])
}

warn contains msg if {
	not named
	some key in ["tcpPorts", "udpPorts"]
	count(spec[key]) > 0
	msg := sprintf("spec.%s: nothing opens them, for spec.policyName names no OZPolicy", [key])
}

warn contains msg if {
	some key in ["policySourceGroups", "policyFriendlyName"]
	count(spec[key]) > 0
	msg := sprintf("spec.%s: no policies are created for resources; create an OZPolicy, and name it in spec.policyName", [key])
}

warn contains msg if {
	some network in {"0.0.0.0/0", "::/0"}
	spec.address == network
	msg := sprintf("spec.address: %s is every address there is", [network])
}
