# METADATA
# title: OZRoutingPeers can be deployed
# custom:
#   match:
#     kinds: [{group: openzro.io, version: v1, kind: OZRoutingPeer}]
#     operations: [CREATE, UPDATE]
package openzro.ozroutingpeer

import rego.v1

import data.openzro.values

spec := object.get(input.request.object, "spec", {})

# By these the Deployment tells its Pods from those of others.
warn contains msg if {
	some label, _ in spec.labels
	label in {"app.kubernetes.io/name", "app.kubernetes.io/instance", "app.kubernetes.io/managed-by"}
	msg := sprintf("spec.labels[%s]: it is left out, for the Deployment is found by that label", [label])
}

deny contains {"field": field, "msg": msg} if {
	some place in ["labels", "annotations"]
	some key, _ in spec[place]
	not is_key(key)
	field := sprintf("spec.%s", [place])
	msg := sprintf("%s: %q is no key such as team or example.com/team", [field, key])
}

is_key(key) if regex.match(`^([a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$`, key)

deny contains {"field": field, "msg": msg} if {
	some label, value in spec.labels
	not regex.match(`^([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?$`, value)
	field := sprintf("spec.labels[%s]", [label])
	msg := sprintf("%s: %q is no value of a label: at most 63 letters, digits, -, _ and .", [field, value])
}

# The Pods are clients themselves.
deny contains {"field": field, "msg": msg} if {
	some annotation, _ in spec.annotations
	startswith(annotation, "openzro.io/")
	field := sprintf("spec.annotations[%s]", [annotation])
	msg := sprintf("%s: it would put another client into the Pods, which are clients themselves; take it out", [field])
}

# Two who write the same would never come to rest.
deny contains {"field": field, "msg": msg} if {
	some annotation, _ in spec.annotations
	startswith(annotation, "deployment.kubernetes.io/")
	field := sprintf("spec.annotations[%s]", [annotation])
	msg := sprintf("%s: Kubernetes itself writes it on every Deployment; take it out", [field])
}

deny contains {"field": field, "msg": msg} if {
	some i, mount in spec.volumeMounts
	not mount.name in {volume.name | some volume in object.get(spec, "volumes", [])}
	field := sprintf("spec.volumeMounts[%d].name", [i])
	msg := sprintf("%s: there is no volume %q in spec.volumes", [field, mount.name])
}

warn contains "spec.replicas: there are 0, so nothing is routed" if spec.replicas == 0

deny contains {"field": field, "msg": msg} if {
	domain := spec.dnsZoneRef.name
	not values.is_domain(domain)
	field := "spec.dnsZoneRef.name"
	msg := sprintf("%s: Invalid value %q: must be the domain of a DNS zone of the server, such as prod.example.com", [field, domain])
}

deny contains {"field": field, "msg": msg} if {
	some i, namespace in spec.allowedNamespaces
	not regex.match(`^[-a-z0-9*?]+$`, namespace)
	field := sprintf("spec.allowedNamespaces[%d]", [i])
	msg := sprintf("%s: Invalid value %q: must be a namespace, or a glob with * and ? such as team-*", [field, namespace])
}

warn contains "spec.allowedNamespaces: every namespace with a key for the account may route its Services by this network" if {
	"*" in spec.allowedNamespaces
}
