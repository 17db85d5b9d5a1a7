# METADATA
# title: ZoppSecretSyncs fill Secrets that they may fill
# custom:
#   match:
#     kinds: [{group: zopp.dev, version: v1alpha1, kind: ZoppSecretSync}]
#     operations: [CREATE, UPDATE]
#   timeout: 1s
# description: |
#   A Secret in another namespace needs that one's consent, in each mode: its annotation
#   zopp.dev/accept-from-namespaces. input.facts.target is that namespace, and
#   input.facts.claims what fills the same Secret.
package zopp.zoppsecretsync

import rego.v1

import data.zopp.claims
import data.zopp.lists

target := input.request.object.spec.target

namespace_field := "spec.target.namespace"

there := input.facts.target

own := input.request.namespace

# The namespace of the Secret, and its annotations.
namespace := there.namespace

namespace := own if not there

says := lists.of(there.annotations)

says := lists.of(object.get(input.namespace, ["metadata", "annotations"], null)) if not there

warn contains {"field": "spec", "msg": msg} if {
	input.facts.off
	msg := "spec: nothing fills the Secret, since ZoppSecretSyncs are switched off; an administrator switches them on by --zopp-secret-syncs, or systems.zopp.secretSyncs of the chart"
}

deny contains {"field": namespace_field, "msg": msg} if {
	not there.exists
	msg := sprintf("%s: there is no namespace %q; make it first, or leave the field out for %q", [namespace_field, there.namespace, own])
}

deny contains {"field": namespace_field, "msg": msg} if {
	not there.served
	msg := sprintf("%s: the manager does not look after namespace %q; add it to --zopp-namespaces, or leave the field out for %q", [namespace_field, there.namespace, own])
}

deny contains {"field": namespace_field, "msg": msg} if {
	there.exists
	not lists.accepts(says, own)
	msg := sprintf("%s: namespace %q accepts no Secrets from namespace %q; an administrator allows it by %s", [
		namespace_field, there.namespace, own,
		lists.addition(there.namespace, lists.entries(says, "zopp.dev/accept-from-namespaces"), "zopp.dev/accept-from-namespaces", own),
	])
}

deny contains {"field": field, "msg": msg} if {
	field := "spec.target.secretName"
	not is_name
	msg := sprintf("%s: %q is not a name of a Secret; use lower-case letters, digits, - and .", [field, target.secretName])
}

is_name if {
	regex.match(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`, target.secretName)
	count(target.secretName) <= 253
}

# Kubernetes makes credentials from such Secrets, of whom they name.
tokens := {"kubernetes.io/service-account-token", "bootstrap.kubernetes.io/token"}

deny contains {"field": field, "msg": sprintf("%s: Kubernetes makes credentials from Secrets of type %s; take another type", [field, target.secretType])} if {
	field := "spec.target.secretType"
	target.secretType in tokens
}

# The controllers identify their objects by these keys.
deny contains {"field": field, "msg": sprintf("%s: what begins with zopp.dev/ is the controllers' own on such a Secret; take it out", [field])} if {
	some part in ["labels", "annotations"]
	some name, _ in target[part]
	startswith(name, "zopp.dev/")
	field := sprintf("spec.target.%s[%s]", [part, name])
}

deny contains {"field": field, "msg": msg} if {
	claim := claims.first(namespace, says)
	field := "spec.target.secretName"
	msg := sprintf("%s: %s fills Secret %s/%s already; take another name, or %s", [
		field, holder(claim),
		namespace, target.secretName, release(claim),
	])
}

holder(claim) := "annotation zopp.dev/sync of the Secret" if claim.kind == "Secret"

holder(claim) := sprintf("%s %s/%s", [claim.kind, claim.namespace, claim.name]) if claim.kind != "Secret"

release(claim) := "take that annotation out" if claim.kind == "Secret"

release(claim) := "delete that one" if claim.kind != "Secret"
