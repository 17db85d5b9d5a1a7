# METADATA
# title: Roles and bindings
# description: The parts of RBAC objects that policies review. This package decides nothing.
package library.shared.roles

import rego.v1

import data.library.shared.objects

# METADATA
# title: The rules of a role by their positions, if the request sets or changes them
rules[i] := rule if {
	objects.has_changed(["rules"])
	not is_control_plane
	some i, rule in input.request.object.rules
}

# METADATA
# title: The subjects of a binding by their positions, if the request sets or changes them
subjects[i] := subject if {
	objects.has_changed(["subjects"])
	not is_control_plane
	some i, subject in input.request.object.subjects
}

# METADATA
# title: The namespace and the name of a subject that is a ServiceAccount
# description: A ServiceAccount can also be written as a user, with its full name.
account(subject) := [subject.namespace, subject.name] if subject.kind == "ServiceAccount"

account(subject) := [namespace, name] if {
	subject.kind == "User"
	["system", "serviceaccount", namespace, name] = split(subject.name, ":")
}

# METADATA
# title: Requests of the control plane itself
# description: >-
#   The API server creates and repairs the default roles when it starts, and a
#   controller copies the rules of aggregated ClusterRoles. A denial would break them.
is_control_plane if {
	input.request.userInfo.username in {
		"system:apiserver",
		"system:serviceaccount:kube-system:clusterrole-aggregation-controller",
	}
}

# METADATA
# title: Whether a rule permits one of the verbs for one of the resources of a group
permits(rule, group, resources, verbs) if {
	includes(rule.apiGroups, {group})
	some resource in resources
	covers(rule.resources, resource)
	includes(rule.verbs, verbs)
}

includes(list, wanted) if {
	some item in list
	item in (wanted | {"*"})
}

covers(list, resource) if includes(list, {resource})

# For subresources, "*/log" covers the log of every resource.
covers(list, resource) if {
	[_, subresource] := split(resource, "/")
	sprintf("*/%v", [subresource]) in list
}

# METADATA
# title: A role or binding, for messages
describe := sprintf("%v %q", [input.request.object.kind, input.name])
