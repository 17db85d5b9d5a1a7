# METADATA
# title: Objects that Lintel controls are changed through their owners
# description: |
#   input.facts has users, who may write all objects; labels, the values of
#   app.kubernetes.io/managed-by that mark the objects of systems; owner, the group, kind,
#   namespace and name of the existing object that controls the object, if there is one; and
#   kept, whether the object may be stored while its owner does not exist.
# custom:
#   match:
#     operations: [CREATE, UPDATE, DELETE]
package controlled.objects

import rego.v1

import data.controlled.subject

operation := input.request.operation

new := input.request.object

old := input.request.oldObject

owner := input.facts.owner

permitted if input.request.userInfo.username in input.facts.users

permitted if fills_authority

deny contains {"msg": msg} if {
	operation == "UPDATE"
	owner
	not permitted
	count(changed) > 0
	msg := sprintf("%s is controlled by %s; edit that instead (this write changes %s)", [
		subject.name,
		subject.reference(owner),
		concat(", ", sort(changed)),
	])
}

deny contains {"msg": msg} if {
	operation == "DELETE"
	owner
	not permitted
	not renewed
	msg := sprintf("%s is controlled by %s, and is deleted with that", [subject.name, subject.reference(owner)])
}

# Caches of the controllers hold everything that carries the label.
deny contains {"msg": msg} if {
	operation in {"CREATE", "UPDATE"}
	value := label(new)
	value in input.facts.labels
	not is_marked(value)
	not permitted
	not input.facts.kept
	not input.request.kind.kind in of_installations
	msg := sprintf("metadata.labels[app.kubernetes.io/managed-by]: %q marks the objects that Lintel creates; remove the label from %s", [value, subject.name])
}

# The manifests of an installation carry the label, too.
of_installations := {"Role", "RoleBinding", "ServiceAccount"}

label(labelled) := labelled.metadata.labels["app.kubernetes.io/managed-by"]

is_marked(value) if label(old) == value

# What any user may change: notes of other tools, the Pods of a workload by
# `kubectl rollout restart`, and what clusters add to Services and ServiceAccounts.
open_fields := [
	"apiVersion", "kind", "metadata", "status",
	"spec/template/metadata/annotations",
	"spec/loadBalancerClass",
	"secrets", "imagePullSecrets",
]

changed contains field if {
	before := json.remove(old, open_fields)
	after := json.remove(new, open_fields)
	some field in (object.keys(before) | object.keys(after))
	object.get(before, field, null) != object.get(after, field, null)
}

changed contains "spec.template.metadata.annotations" if {
	started(old) != started(new)
}

started(workload) := object.remove(
	object.get(workload, ["spec", "template", "metadata", "annotations"], {}),
	["kubectl.kubernetes.io/restartedAt"],
)

changed contains "metadata.labels" if {
	some key, value in object.get(old, ["metadata", "labels"], {})
	is_of_lintel(key)
	object.get(new, ["metadata", "labels", key], null) != value
}

changed contains "metadata.annotations" if {
	some key, value in object.get(old, ["metadata", "annotations"], {})
	is_of_lintel(key)
	not of_users(key)
	object.get(new, ["metadata", "annotations", key], null) != value
}

changed contains "metadata.ownerReferences" if {
	list(old, "ownerReferences") != list(new, "ownerReferences")
}

# A finalizer may always be removed: objects under deletion wait for that.
changed contains "metadata.finalizers" if {
	some finalizer in list(new, "finalizers")
	not finalizer in list(old, "finalizers")
	not is_balanced
}

# A load balancer is released before its Service is deleted.
is_balanced if {
	input.request.kind.kind == "Service"
	new.spec.type == "LoadBalancer"
}

# Messages of controllers ask users to set these.
of_users(key) if endswith(key, "/deletion-policy")

of_users("openzro.io/account")

is_of_lintel("app.kubernetes.io/managed-by")

# Elsewhere, the labels that Kubernetes recommends are those of other tools.
is_of_lintel(key) if {
	key in {"app.kubernetes.io/component", "app.kubernetes.io/instance", "app.kubernetes.io/name"}
	owner.group in {"openclaw.enterprise.io", "openzro.io"}
}

is_of_lintel(key) if {
	domain := split(key, "/")[0]
	domain in {owner.group, "lintel.dev"}
	domain != key
}

list(whole, field) := object.get(whole, ["metadata", field], [])

# The setup Job of a CertificateAuthority fills Secrets that the controller has created.
fills_authority if {
	operation == "UPDATE"
	owner.group == "openvox.voxpupuli.org"
	owner.kind == "CertificateAuthority"
	input.request.kind.kind == "Secret"
	input.request.userInfo.username == sprintf("system:serviceaccount:%s:%s-ca-setup", [owner.namespace, owner.name])
	input.name in {concat("", [owner.name, suffix]) | some suffix in ["-ca", "-ca-key", "-ca-crl", "-ca-setup"]}
	changed == {"data"}
}

# What the controllers create again when it is deleted, which is how keys are rotated and a
# setup is repeated.
renewed if {
	owner.group == "openvox.voxpupuli.org"
	kind := input.request.kind.kind
	suffix := {
		"Certificate": {"Secret": ["-tls"]},
		"CertificateAuthority": {
			"Job": ["-ca-setup"],
			"Secret": ["-ca-setup"],
			"Certificate": ["-operator-signing", "-operator-standby"],
		},
	}[owner.kind][kind][_]
	input.name == concat("", [owner.name, suffix])
}

renewed if {
	owner.group == "openzro.io"
	input.request.kind.kind in {"OZSetupKey": ["Secret"], "OZRoutingPeer": ["OZGroup", "OZSetupKey"]}[owner.kind]
}

# An immutable Secret was that before a ZoppSecretSync adopted it.
renewed if {
	owner.group == "zopp.dev"
	owner.kind == "ZoppSecretSync"
	input.request.kind.kind == "Secret"
	old.immutable == true
}
