# METADATA
# title: Secrets are what orlojd takes
# custom:
#   match:
#     kinds: [{group: orloj.dev, version: v1, kind: Secret}]
#     operations: [CREATE, UPDATE]
#   timeout: 1s
package orloj.secret

import rego.v1

import data.orloj.values

spec := object.get(input.request.object, "spec", {})

# A message never has a value in it: it goes to logs.
deny contains {"field": field, "msg": sprintf("%s: it is empty", [field])} if {
	some part in ["data", "stringData"]
	some key, _ in spec[part]
	values.blank(spec, [part, key])
	field := sprintf("spec.%s.%s", [part, key])
}

deny contains {"field": field, "msg": sprintf("%s: it is not base64; use spec.stringData for plain text", [field])} if {
	some key, value in spec.data
	not base64.is_valid(value)
	field := sprintf("spec.data.%s", [key])
}

deny contains {"field": field, "msg": sprintf("%s: a key is empty", [field])} if {
	some part in ["data", "stringData"]
	some key, _ in spec[part]
	trim_space(key) == ""
	field := sprintf("spec.%s", [part])
}
