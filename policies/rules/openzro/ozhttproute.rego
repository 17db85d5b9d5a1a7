# METADATA
# title: OZHTTPRoutes make sense
# custom:
#   match:
#     kinds: [{group: openzro.io, version: v1, kind: OZHTTPRoute}]
#     operations: [CREATE, UPDATE]
#   timeout: 1s
package openzro.ozhttproute

import rego.v1

import data.openzro.values

spec := object.get(input.request.object, "spec", {})

deny contains {"field": "spec.domain", "msg": msg} if {
	domain := object.get(spec, "domain", "")
	not values.is_domain(domain)
	msg := sprintf("spec.domain: %q is not a domain such as app.example.com", [domain])
}

deny contains problem if some problem in values.taken("spec.domain", spec.domain)

path_of(target) := object.get(target, "path", "/")

deny contains {"field": field, "msg": msg} if {
	some i, target in spec.targets
	not startswith(path_of(target), "/")
	field := sprintf("spec.targets[%d].path", [i])
	msg := sprintf("%s: %q does not begin with /", [field, path_of(target)])
}

paths := [path_of(target) | some target in spec.targets]

twice := values.repeated(paths)

deny contains {"field": field, "msg": msg} if {
	some i, path in paths
	path in twice
	j := values.first_of(paths, path)
	j < i
	field := sprintf("spec.targets[%d].path", [i])
	msg := sprintf("%s: spec.targets[%d] answers for %q already; remove one of them", [field, j, path])
}

deny contains values.needed(sprintf("spec.targets[%d].networkResourceRef.name", [i]), ": name an OZNetworkResource of this namespace") if {
	some i, target in spec.targets
	values.blank(object.get(target, ["networkResourceRef", "name"], ""))
}
