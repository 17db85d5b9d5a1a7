# METADATA
# title: Pods that name an OZSetupKey get a client
# description: |
#   input.facts has setupKey, the state of the OZSetupKey that the Pod names: its name, found,
#   ready with reason and message, secret with name and key, managementURL, volumes,
#   volumeMounts, and extraDNSLabels, false where the server made the key without them;
#   clientImage; and profile, the OZSidecarProfile that selects the Pod, if there is one: its
#   name, denied, mode, extraDNSLabels, image, env and securityContext.
# custom:
#   match:
#     kinds: [{group: "", version: v1, kind: Pod}]
#     operations: [CREATE]
package openzro.pod

import rego.v1

import data.openzro.values

pod := input.request.object

annotations := object.get(pod, ["metadata", "annotations"], {})

key := input.facts.setupKey

place(annotation) := sprintf("metadata.annotations[openzro.io/%s]", [annotation])

asked if "openzro.io/setup-key" in object.keys(annotations)

profile := input.facts.profile

# The owner of a Pod has the last word, by either annotation.
selected if {
	profile
	not asked
	object.get(annotations, "openzro.io/inject", "true") != "false"
}

wanted if asked

wanted if selected

by_profile(problem) := sprintf("metadata.labels: OZSidecarProfile %q selects this Pod, and %s; or annotate the Pod with openzro.io/inject=false, to have it without a client", [profile.name, problem])

deny contains {"field": "metadata.labels", "msg": by_profile(problem)} if {
	selected
	profile.denied != ""
	problem := sprintf("the rules deny the profile as it is stored: %s", [profile.denied])
}

deny contains {"field": "metadata.labels", "msg": by_profile(problem)} if {
	selected
	profile.denied == ""
	not key.found
	problem := sprintf("there is no OZSetupKey %q in namespace %q: make it", [key.name, input.request.namespace])
}

deny contains {"field": "metadata.labels", "msg": by_profile(problem)} if {
	selected
	profile.denied == ""
	key.found
	not key.ready
	problem := sprintf("its OZSetupKey %q is not ready (%s): see kubectl -n %s describe ozsetupkey %s", [key.name, why, input.request.namespace, key.name])
}

deny contains {"field": "metadata.labels", "msg": by_profile(problem)} if {
	selected
	profile.denied == ""
	count(labels) > 0
	key.ready
	not key.extraDNSLabels
	problem := sprintf("its OZSetupKey %q lets peers have no spec.extraDNSLabels: make one with spec.allowExtraDNSLabels: true", [key.name])
}

why := concat(": ", [text | some text in [key.reason, key.message]; text != ""])

warn contains msg if {
	value := annotations["openzro.io/inject"]
	not value in {"true", "false"}
	msg := sprintf(`%s: %q is neither "true" nor "false", and taken for "true"`, [place("inject"), value])
}

deny contains values.needed(place("setup-key"), ": the name of an OZSetupKey of this namespace") if {
	asked
	values.blank(annotations["openzro.io/setup-key"])
}

deny contains {"field": place("setup-key"), "msg": msg} if {
	asked
	key.name != ""
	not key.found
	msg := sprintf("%s: there is no OZSetupKey %q in namespace %q; make it, or take the annotation out", [place("setup-key"), key.name, input.request.namespace])
}

deny contains {"field": place("setup-key"), "msg": msg} if {
	asked
	key.found
	not key.ready
	msg := sprintf("%s: OZSetupKey %q is not ready (%s); see: kubectl -n %s describe ozsetupkey %s", [
		place("setup-key"),
		key.name,
		why,
		input.request.namespace,
		key.name,
	])
}

labels := profile.extraDNSLabels if selected

labels := [label |
	asked
	some text in split(object.get(annotations, "openzro.io/extra-dns-labels", ""), ",")
	label := trim_space(text)
	label != ""
] if {
	not selected
}

deny contains {"field": place("extra-dns-labels"), "msg": msg} if {
	asked
	some label in labels
	not values.is_dns_label(label)
	msg := sprintf("%s: %q is not a DNS name of letters, digits, - and _, such as web or web.eu", [place("extra-dns-labels"), label])
}

deny contains {"field": place("extra-dns-labels"), "msg": msg} if {
	asked
	count(labels) > 32
	msg := sprintf("%s: there are %d names, and the server takes 32", [place("extra-dns-labels"), count(labels)])
}

deny contains {"field": place("extra-dns-labels"), "msg": msg} if {
	asked
	count(labels) > 0
	key.ready
	not key.extraDNSLabels
	msg := sprintf("%s: OZSetupKey %q lets peers have none; make one with spec.allowExtraDNSLabels: true, and name that", [place("extra-dns-labels"), key.name])
}

warn contains msg if {
	asked
	value := annotations["openzro.io/init-sidecar"]
	not value in {"true", "false"}
	msg := sprintf(`%s: %q is neither "true" nor "false", and taken for "false"`, [place("init-sidecar"), value])
}

containers := array.concat(object.get(pod.spec, "containers", []), object.get(pod.spec, "initContainers", []))

clients := [container | some container in containers; container.name == "openzro"]

deny contains {"field": "spec.containers", "msg": msg} if {
	wanted
	some container in clients
	not is_client(container)
	msg := `spec.containers: a container is named openzro but is not a client (it has no OZ_SETUP_KEY), so no client is added; rename the container`
}

is_client(container) if {
	some variable in container.env
	variable.name == "OZ_SETUP_KEY"
}

injected if {
	wanted
	key.ready
	count(clients) == 0
	not refused
}

refused if {
	selected
	profile.denied != ""
}

image := overridden("image", "") if overridden("image", "") != ""

image := input.facts.clientImage if overridden("image", "") == ""

client := {
	"name": "openzro",
	"image": image,
	"env": array.concat(
		array.concat(environment, [{"name": "OZ_EXTRA_DNS_LABELS", "value": concat(",", labels)} | count(labels) > 0]),
		overridden("env", []),
	),
	"securityContext": object.union({"capabilities": {"add": ["NET_ADMIN"]}}, overridden("securityContext", {})),
}

# A field of the profile, if that is why the Pod gets a client.
overridden(field, _) := profile[field] if {
	selected
	field in object.keys(profile)
}

overridden(field, otherwise) := otherwise if not selected

overridden(field, otherwise) := otherwise if {
	selected
	not field in object.keys(profile)
}

environment := [
	{"name": "OZ_SETUP_KEY", "valueFrom": {"secretKeyRef": key.secret}},
	{"name": "OZ_MANAGEMENT_URL", "value": key.managementURL},
]

mounted := object.union(client, {"volumeMounts": key.volumeMounts}) if count(key.volumeMounts) > 0

mounted := client if count(key.volumeMounts) == 0

patch contains {"op": "add", "path": "/spec/containers/-", "value": mounted} if {
	injected
	not first
}

first if {
	asked
	annotations["openzro.io/init-sidecar"] == "true"
}

first if {
	selected
	profile.mode == "Sidecar"
}

patch contains {"op": "add", "path": "/metadata/annotations/openzro.io~1sidecar-profile", "value": profile.name} if {
	injected
	selected
}

# Before the others, so that they have the network, too.
patch contains {"op": "add", "path": "/spec/initContainers", "value": started} if {
	injected
	first
	started := array.concat([object.union(mounted, {"restartPolicy": "Always"})], object.get(pod.spec, "initContainers", []))
}

added := [volume |
	some volume in key.volumes
	not volume.name in {known.name | some known in object.get(pod.spec, "volumes", [])}
]

patch contains {"op": "add", "path": "/spec/volumes", "value": volumes} if {
	injected
	count(added) > 0
	volumes := array.concat(object.get(pod.spec, "volumes", []), added)
}
