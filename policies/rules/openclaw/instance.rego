# METADATA
# title: OpenClawInstances are complete
# custom:
#   match:
#     kinds: [{group: openclaw.enterprise.io, version: v1, kind: OpenClawInstance}]
#     operations: [CREATE, UPDATE]
package openclaw.instance

import rego.v1

instance := input.request.object

connectors := {"gmail", "gcal", "jira", "github", "gdrive"}

deny contains {"msg": msg, "field": field} if {
	some i, integration in instance.spec.integrations
	not integration.type in connectors
	field := sprintf("spec.integrations[%d].type", [i])
	msg := sprintf("%s: %q is not a connector; there are %s", [field, integration.type, concat(", ", sort(connectors))])
}

deny contains {"msg": msg, "field": field} if {
	some i, integration in instance.spec.integrations
	some j, other in instance.spec.integrations
	j < i
	other.type == integration.type
	field := sprintf("spec.integrations[%d].type", [i])
	msg := sprintf("%s: connector %q duplicates spec.integrations[%d]; a gateway has one of each", [field, integration.type, j])
}

# The enforcer must come from where the administrators say.
deny contains {"msg": msg, "field": field} if {
	some name, image in instance.spec.images
	image != ""
	not permitted(image)
	field := sprintf("spec.images.%s", [name])
	msg := sprintf("%s: %q is from no registry that is permitted here; %s", [field, image, registries])
}

# A prefix is a registry, a path below one, or a whole repository. What follows it begins
# a new part: example.com permits neither example.com.evil.io nor example.com:5000.
permitted(image) if {
	some registry in input.facts.registries
	prefix := trim_suffix(registry, "/")
	prefix != ""
	startswith(image, prefix)
	part_of(prefix, substring(image, count(prefix), -1))
}

part_of(_, rest) if startswith(rest, "/")

part_of(repository, rest) if {
	contains(repository, "/")
	regex.match(`^($|[:@])`, rest)
}

registries := sprintf("permitted are %s", [concat(", ", input.facts.registries)]) if count(input.facts.registries) > 0

registries := "none is (the manager's --openclaw-image-registries)" if count(input.facts.registries) == 0

# Where the bound is not known, as without a cluster, the rule says nothing.
deny contains {"field": "spec.replicas", "msg": msg} if {
	instance.spec.replicas > input.facts.maxReplicas
	msg := sprintf("spec.replicas: Invalid value %d: must be at most %d (the manager's --openclaw-max-replicas)", [instance.spec.replicas, input.facts.maxReplicas])
}

warn contains msg if {
	instance.spec.deploymentMode == "single"
	instance.spec.replicas > 1
	msg := sprintf("spec.replicas is %d, but deploymentMode single runs one; use ha", [instance.spec.replicas])
}

defaults.spec.auth.clientSecretRef.key := "client-secret" if instance.spec.auth.clientSecretRef

defaults.spec.storage.postgresSecretRef.key := "connection-string" if instance.spec.storage.postgresSecretRef

defaults.spec.storage.redisSecretRef.key := "connection-string" if instance.spec.storage.redisSecretRef
