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

# The Deployment selects its Pods by these labels.
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
	msg := sprintf("%s: %q is not a key such as team or example.com/team", [field, key])
}

is_key(key) if regex.match(`^([a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$`, key)

deny contains {"field": field, "msg": msg} if {
	some label, value in spec.labels
	not regex.match(`^([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?$`, value)
	field := sprintf("spec.labels[%s]", [label])
	msg := sprintf("%s: %q is not a value of a label: at most 63 letters, digits, -, _ and .", [field, value])
}

# The Pods are clients themselves.
deny contains {"field": field, "msg": msg} if {
	some annotation, _ in spec.annotations
	startswith(annotation, "openzro.io/")
	field := sprintf("spec.annotations[%s]", [annotation])
	msg := sprintf("%s: it would put another client into the Pods, which are clients themselves; take it out", [field])
}

# Two controllers that write the same field would overwrite each other forever.
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

template := object.get(spec, "podTemplate", {})

parts[name] := value if {
	some name, value in template
	is_object(value)
}

# The containers and the maps of the template, if they are such.
containers[i] := container if {
	is_array(parts.spec.containers)
	some i, container in parts.spec.containers
	is_object(container)
}

maps[name] := value if {
	some name, value in parts.metadata
	is_object(value)
}

# The fields that a Pod template may set in a namespace without a grant: none of them reaches
# Secrets, the node, the API server or other Pods.
template_fields := {
	"metadata.labels", "metadata.annotations",
	"spec.affinity", "spec.containers", "spec.dnsConfig", "spec.nodeSelector",
	"spec.terminationGracePeriodSeconds", "spec.tolerations", "spec.topologySpreadConstraints",
}

container_fields := {"name", "env", "imagePullPolicy", "resources"}

# The fields of the template that need a grant.
template_granted contains field if {
	some part, value in template
	not is_object(value)
	field := part
}

template_granted contains field if {
	some part, value in parts
	some key in object.keys(value)
	field := sprintf("%s.%s", [part, key])
	not field in template_fields
}

template_granted contains "spec.containers" if {
	listed := parts.spec.containers
	count(containers) != count([1 | is_array(listed); some _ in listed])
}

template_granted contains "spec.containers" if {
	some "containers", listed in parts.spec
	not is_array(listed)
}

template_granted contains field if {
	some i, container in containers
	some key in container_problems(container)
	field := sprintf("spec.containers[%d].%s", [i, key])
}

container_problems(container) := {"name"} if object.get(container, "name", "") != "openzro"

container_problems(container) := problems if {
	container.name == "openzro"
	problems := (object.keys(container) - container_fields) | {sprintf("env[%d]", [i]) |
		some i, variable in container.env
		not is_plain(variable)
	}
}

is_plain(variable) if {
	count(object.keys(variable) - {"name", "value"}) == 0
	is_string(object.get(variable, "value", ""))
}

deny contains {"field": field, "msg": msg} if {
	not input.facts.podTemplates
	some path in template_granted
	field := sprintf("spec.podTemplate.%s", [path])
	msg := sprintf("%s: this namespace has no grant for the field; set %s, and of the container openzro %s with plain values, or have the administrator start the manager with --openzro-pod-templates=%s", [
		field,
		concat(", ", sort(template_fields - {"spec.containers"})),
		concat(", ", sort(container_fields - {"name"})),
		input.request.namespace,
	])
}

# Peers would enrol elsewhere, or not at all.
deny contains {"field": field, "msg": msg} if {
	some i, container in containers
	some j, variable in container.env
	container.name == "openzro"
	variable.name in {"OZ_SETUP_KEY", "OZ_MANAGEMENT_URL"}
	field := sprintf("spec.podTemplate.spec.containers[%d].env[%d]", [i, j])
	msg := sprintf("%s: %s is set by Lintel; take it out", [field, variable.name])
}

deny contains {"field": field, "msg": msg} if {
	some annotation in object.keys(maps.annotations)
	startswith(annotation, "openzro.io/")
	field := sprintf("spec.podTemplate.metadata.annotations[%s]", [annotation])
	msg := sprintf("%s: it would put another client into the Pods, which are clients themselves; take it out", [field])
}

warn contains msg if {
	some label in object.keys(maps.labels)
	label in {"app.kubernetes.io/name", "app.kubernetes.io/instance"}
	msg := sprintf("spec.podTemplate.metadata.labels[%s]: it is left out, for the Deployment is found by that label", [label])
}
