# METADATA
# title: Requests for tests
# description: Inputs of policies, as Lintel builds them.
package library.shared.testing

import rego.v1

# METADATA
# title: The creation of an object
object(value) := {
	"name": "web",
	"request": {"operation": "CREATE", "object": value, "oldObject": null, "namespace": "shop"},
}

# METADATA
# title: The update of an object
update(new, old) := {
	"name": "web",
	"request": {"operation": "UPDATE", "object": new, "oldObject": old, "namespace": "shop"},
}

# METADATA
# title: The creation of a Pod
pod(spec) := object({"metadata": {"name": "web"}, "spec": spec})

# METADATA
# title: The creation of a Pod with one container
container(fields) := pod({"containers": [_merge({"name": "web"}, fields)]})

_merge(a, b) := {key: value |
	some part in [a, b]
	some key, value in part
}
