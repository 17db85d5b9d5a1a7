# METADATA
# title: The parts of a Pod
# description: >-
#   What several policies read of a Pod. A library: it has no deny, warn, patch or
#   defaults, and decides nothing.
package samples.pods

import rego.v1

# METADATA
# title: The spec to review
# description: >-
#   Undefined for an UPDATE that leaves the spec as it was: a Pod that is older
#   than the policy must still get its labels, and lose its finalizers.
spec := input.request.object.spec if not is_unchanged

# METADATA
# title: All containers, by the path of their field
containers[path] := container if {
	some field in ["initContainers", "containers", "ephemeralContainers"]
	some i, container in spec[field]
	is_object(container)
	path := sprintf("spec.%v[%d]", [field, i])
}

# METADATA
# title: The security contexts that there are, by the path of their field
contexts["spec.securityContext"] := spec.securityContext

contexts[path] := container.securityContext if {
	some owner, container in containers
	path := concat("", [owner, ".securityContext"])
}

# METADATA
# title: The Pod and its containers, which may have a security context
# description: >-
#   The Pod and its containers, each with the words by which a message calls it,
#   the path of its security context, and that context, empty where there is none.
subjects contains {
	"words": sprintf("Pod %q", [input.name]),
	"path": "spec.securityContext",
	"context": security_context(spec),
}

subjects contains {
	"words": words(container),
	"path": concat("", [path, ".securityContext"]),
	"context": security_context(container),
} if {
	some path, container in containers
}

# METADATA
# title: How a message calls whose security context it is, by the path of the context
# description: For a message only. Look at contexts first, which cost less to find.
owners[subject.path] := subject.words if some subject in subjects

# METADATA
# title: How a message calls a container
words(container) := sprintf("container %q of Pod %q", [name(container), input.name])

# METADATA
# title: The name of a container, volume or sysctl, empty where there is none
name(part) := part.name if {
	is_string(part.name)
} else := ""

# METADATA
# title: The security context of a Pod's spec or of a container
security_context(owner) := owner.securityContext if {
	is_object(owner.securityContext)
} else := {}

# METADATA
# title: One setting of a security context, null where there is none
# description: Always defined, so that a rule may say not of it.
setting(owner, path) := object.get(security_context(owner), path, null)

# METADATA
# title: Pods for Windows
# description: Windows does not support settings of Linux, so rules must not require them.
is_windows if spec.os.name == "windows"

# METADATA
# title: Pods in a user namespace of their own
# description: Their user root has no privileges on the node.
has_user_namespace if spec.hostUsers == false

is_unchanged if {
	input.request.operation == "UPDATE"
	input.request.object.spec == input.request.oldObject.spec
}
