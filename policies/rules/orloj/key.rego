# METADATA
# title: The store can hold the object
# custom:
#   match:
#     kinds:
#       - {group: orloj.dev, version: v1, kind: Agent}
#       - {group: orloj.dev, version: v1, kind: AgentPolicy}
#       - {group: orloj.dev, version: v1, kind: AgentSystem}
#       - {group: orloj.dev, version: v1, kind: McpServer}
#       - {group: orloj.dev, version: v1, kind: Memory}
#       - {group: orloj.dev, version: v1, kind: ModelEndpoint}
#       - {group: orloj.dev, version: v1, kind: Secret}
#       - {group: orloj.dev, version: v1, kind: Tool}
#     operations: [CREATE, UPDATE]
#   timeout: 1s
# description: |
#   input.facts has target, the Orloj namespace, and taken, the object that has the key
#   already, if there is one.
package orloj.key

import rego.v1

annotations := object.get(input.request.object, ["metadata", "annotations"], {})

target_field := "metadata.annotations[orloj.dev/target-namespace]"

reserved := {"status", "logs", "exec", "scale", "proxy", "binding"}

deny contains {"field": "metadata.name", "msg": msg} if {
	lower(input.request.object.metadata.name) in reserved
	msg := sprintf("metadata.name: %q is a path of orlojd's API; take another name", [input.name])
}

# metadata.name is all that a webhook may rely on: generateName has no name before.
deny contains {"field": "metadata.name", "msg": msg} if {
	size := (count(input.facts.target) + 1) + count(input.request.object.metadata.name)
	size > 253
	msg := sprintf("metadata.name: the key %s/%s has %d characters, and the store holds 253; take a shorter name", [input.facts.target, input.name, size])
}

deny contains {"field": target_field, "msg": msg} if {
	"orloj.dev/target-namespace" in object.keys(annotations)
	not regex.match(`^[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$`, input.facts.target)
	msg := sprintf("%s: %q is not a namespace; letters, digits, -, _ and . make one", [target_field, input.facts.target])
}

deny contains {"field": field, "msg": msg} if {
	policy := annotations["orloj.dev/deletion-policy"]
	not policy in {"Delete", "Retain"}
	field := "metadata.annotations[orloj.dev/deletion-policy]"
	msg := sprintf("%s: %q is not one of Delete, Retain", [field, policy])
}

# orlojd removes rows that have them by rules of its own.
deny contains {"field": field, "msg": msg} if {
	some label in ["orloj.dev/mcp-generated", "orloj.dev/mcp-server"]
	input.request.object.metadata.labels[label]
	field := sprintf("metadata.labels[%s]", [label])
	msg := sprintf("%s: orlojd marks the Tools by it that it makes from McpServers; take it out", [field])
}

deny contains {"field": "metadata.name", "msg": msg} if {
	owner := input.facts.taken
	msg := sprintf("metadata.name: the store key %s/%s belongs to %s %s/%s; give this object another name or %s, or delete that one", [
		input.facts.target,
		input.name,
		owner.kind,
		owner.namespace,
		owner.name,
		"orloj.dev/target-namespace",
	])
}
