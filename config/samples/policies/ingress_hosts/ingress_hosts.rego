# METADATA
# title: Hosts of Ingresses
# description: >-
#   Two Ingresses for one host and path leave it to chance which of them is
#   served. A rule without a host stands for every host, one for *.example.com for
#   each that has one more label. Two that are created in the same moment may both
#   pass. Ingress classes make no difference.
#   Parameters: hostSharing, paths (the default: Ingresses may share a host if they
#   have different paths) or none (a host belongs to one Ingress).
# custom:
#   match:
#     kinds: [{group: networking.k8s.io, kind: Ingress}]
#     operations: [CREATE, UPDATE]
#   requires: [{group: networking.k8s.io, kind: Ingress}]
#   # Time and steps grow with the number of Ingresses; some 5,000 fit.
#   timeout: 1s
package samples.ingress_hosts

import rego.v1

# METADATA
# title: No other Ingress has the host and path
deny contains violation if {
	not is_unchanged
	some namespace, ingresses in data.cluster["Ingress.networking.k8s.io"]
	some name, other in ingresses
	some rule in other.spec.rules
	some i in rivals(host_of(rule))
	not is_itself(namespace, name)
	some path in paths_of(rule)
	clashes(i, path)
	violation := {
		"msg": sprintf("%v is taken by Ingress %v/%v%v: choose another %v", [
			claim(i, path),
			namespace,
			name,
			as_written(i, rule),
			choice,
		]),
		"field": sprintf("spec.rules[%d].host", [i]),
	}
}

default sharing := "paths"

sharing := input.parameters.hostSharing

default choice := "host or path"

choice := "host" if sharing == "none"

# An Ingress that is older than the policy must still get what its controller
# writes: addresses, annotations, finalizers.
is_unchanged if {
	input.request.operation == "UPDATE"
	input.request.object.spec == input.request.oldObject.spec
}

is_itself(namespace, name) if {
	namespace == input.request.namespace
	name == input.name
}

# The rules of this Ingress whose hosts another host overlaps with, looked up
# rather than compared one by one: a cluster may have thousands of Ingresses.
rivals(host) := every_rule if {
	host == "*"
} else := union({
	object.get(by_host, host, set()),
	object.get(by_host, wildcard(host), set()),
	object.get(by_host, "*", set()),
	object.get(by_wildcard, host, set()),
})

every_rule := {i | some i, _ in input.request.object.spec.rules}

by_host[host] contains i if {
	some i, rule in input.request.object.spec.rules
	host := host_of(rule)
}

by_wildcard[wildcard(host)] contains i if {
	some i, rule in input.request.object.spec.rules
	host := host_of(rule)
}

# A wildcard stands for exactly one label, so it overlaps with itself and with the
# names that have another first label. The wildcard of a wildcard is itself.
wildcard(host) := concat(".", array.concat(["*"], array.slice(labels, 1, count(labels)))) if {
	labels := split(host, ".")
	count(labels) > 1
} else := host

host_of(rule) := lower(rule.host) if {
	is_string(rule.host)
	rule.host != ""
} else := "*"

clashes(_, _) if sharing == "none"

clashes(i, path) if path in paths_of(input.request.object.spec.rules[i])

# A rule without paths sends all to the default backend.
paths_of(rule) := paths if {
	paths := {path_of(entry) | some entry in rule.http.paths}
	count(paths) > 0
} else := {"/"}

# Whether a path ends in a slash decides nothing in most controllers.
path_of(entry) := sprintf("/%v", [trim(entry.path, "/")]) if {
	is_string(entry.path)
} else := "/"

claim(i, path) := sprintf("host %q", [own_host(i)]) if {
	sharing == "none"
} else := sprintf("host %q with path %q", [own_host(i), path])

as_written(i, rule) := sprintf(" (by %q)", [host_of(rule)]) if {
	host_of(rule) != own_host(i)
} else := ""

own_host(i) := host_of(input.request.object.spec.rules[i])
