# METADATA
# title: Objects are stored where their namespace allows it
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
#   Annotation orloj.dev/allowed-target-namespaces of the Namespace lists what its objects
#   may target; the namespace of its own name is always allowed. In mode Open everything is.
package orloj.mapping

import rego.v1

field := "metadata.annotations[orloj.dev/target-namespace]"

target := input.facts.target

own := input.request.namespace

default annotation := ""

annotation := input.namespace.metadata.annotations["orloj.dev/allowed-target-namespaces"]

# Entries that are not names or globs are omitted: an administrator runs the command below.
patterns := [pattern |
	some text in split(annotation, ",")
	pattern := trim_space(text)
	regex.match(`^[-A-Za-z0-9_.*?]+$`, pattern)
]

allowed if input.facts.mapping == "Open"

allowed if target == own

allowed if {
	some pattern in patterns
	glob.match(pattern, null, target)
}

deny contains {"field": field, "msg": msg} if {
	not allowed
	regex.match(`^[-A-Za-z0-9_.]+$`, target)
	msg := sprintf("%s: objects of namespace %q may not be stored in Orloj's namespace %q; an administrator allows it by: kubectl annotate --overwrite namespace %s 'orloj.dev/allowed-target-namespaces=%s'", [
		field, own, target, own,
		concat(",", array.concat(patterns, [target])),
	])
}
