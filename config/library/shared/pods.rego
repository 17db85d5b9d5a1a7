# METADATA
# title: Pods
# description: The parts of a Pod that policies review. This package decides nothing.
package library.shared.pods

import rego.v1

import data.library.shared.objects
import data.library.shared.quantities

# METADATA
# title: The spec of the Pod, if the request sets or changes it
# description: >-
#   Changes of fields that only decide when a Pod starts or ends are not reviewed, so
#   that controllers can start Pods that are older than a policy.
spec := objects.spec if not only_timing_differs

only_timing_differs if {
	input.request.operation == "UPDATE"
	is_object(input.request.oldObject.spec)
	object.remove(objects.spec, timing) == object.remove(input.request.oldObject.spec, timing)
}

timing := {"activeDeadlineSeconds", "schedulingGates", "terminationGracePeriodSeconds"}

# METADATA
# title: All containers by their paths, with init and ephemeral containers
containers[path] := container if some path, container in resource_containers

containers[path] := container if {
	some i, container in spec.ephemeralContainers
	is_object(container)
	path := sprintf("spec.ephemeralContainers[%d]", [i])
}

# METADATA
# title: Containers that can have resources, by their paths
# description: Ephemeral containers have none.
resource_containers[path] := container if {
	some field in ["initContainers", "containers"]
	some i, container in spec[field]
	is_object(container)
	path := sprintf("spec.%v[%d]", [field, i])
}

# METADATA
# title: The security contexts of the Pod and its containers, by their paths
contexts["spec.securityContext"] := spec.securityContext

contexts[path] := container.securityContext if {
	some owner, container in containers
	path := sprintf("%v.securityContext", [owner])
}

# METADATA
# title: The owner of a security context, for messages
owner("spec.securityContext") := sprintf("Pod %q", [input.name])

owner(path) := describe(container) if {
	some container_path, container in containers
	path == sprintf("%v.securityContext", [container_path])
}

# METADATA
# title: A container, for messages
describe(container) := sprintf("container %q", [objects.text(container, "name")])

# METADATA
# title: A field of a container's security context, null if missing
setting(container, field) := object.get(container, ["securityContext", field], null)

# METADATA
# title: Pods for Windows
# description: Windows does not support settings of Linux, so policies must not require them.
is_windows if spec.os.name == "windows"

# METADATA
# title: Pods in a user namespace
# description: The user root of such a Pod has no privileges on the node.
has_user_namespace if spec.hostUsers == false

# METADATA
# title: Whether the Pod as a whole requests a resource
# description: Its containers share the request, and need none of their own.
has_resources(name) if quantities.request(spec, name)
