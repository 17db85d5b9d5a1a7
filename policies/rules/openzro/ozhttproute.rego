# METADATA
# title: OZHTTPRoutes make sense
# custom:
#   match:
#     kinds: [{group: openzro.io, version: v1, kind: OZHTTPRoute}]
#     operations: [CREATE, UPDATE]
package openzro.ozhttproute

import rego.v1

import data.openzro.values

spec := object.get(input.request.object, "spec", {})

deny contains {"field": "spec.domain", "msg": msg} if {
	domain := object.get(spec, "domain", "")
	not values.is_domain(domain)
	msg := sprintf("spec.domain: %q is no domain such as app.example.com", [domain])
}

deny contains problem if some problem in values.taken("spec.domain", spec.domain)

path(target) := object.get(target, "path", "/")

deny contains {"field": field, "msg": msg} if {
	some i, target in spec.targets
	not startswith(path(target), "/")
	field := sprintf("spec.targets[%d].path", [i])
	msg := sprintf("%s: %q does not begin with /", [field, path(target)])
}

deny contains {"field": field, "msg": msg} if {
	some i, target in spec.targets
	some j, other in spec.targets
	j < i
	path(other) == path(target)
	field := sprintf("spec.targets[%d].path", [i])
	msg := sprintf("%s: spec.targets[%d] answers for %q already; take one of them out", [field, j, path(target)])
}

deny contains values.needed(sprintf("spec.targets[%d].networkResourceRef.name", [i]), ": name an OZNetworkResource of this namespace") if {
	some i, target in spec.targets
	values.blank(object.get(target, ["networkResourceRef", "name"], ""))
}
