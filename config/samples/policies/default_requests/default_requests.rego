# METADATA
# title: Default resource requests
# description: >-
#   A container that requests nothing is scheduled anywhere and evicted first.
#   Parameters: requests, an object with cpu and memory; a missing entry has no
#   default.
# custom:
#   match:
#     kinds: [{group: "", kind: Pod}]
#     operations: [CREATE]
package samples.default_requests

import rego.v1

# METADATA
# title: Containers request CPU and memory
patch contains operation if {
	some field in ["containers", "initContainers"]
	some i, container in input.request.object.spec[field]
	is_object(container)
	some resource in ["cpu", "memory"]
	not is_set(container, resource)
	not is_set(input.request.object.spec, resource)
	operation := {
		"op": "add",
		"path": sprintf("/spec/%v/%d/resources/requests/%v", [field, i, resource]),
		"value": requests[resource],
	}
}

default requests := {"cpu": "100m", "memory": "128Mi"}

requests := input.parameters.requests

# A limit counts: Kubernetes takes it as the request where there is none. So do
# the resources of the Pod as a whole, which those of a container must fit into.
is_set(owner, resource) if owner.resources.requests[resource]

is_set(owner, resource) if owner.resources.limits[resource]
