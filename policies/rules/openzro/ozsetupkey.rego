# METADATA
# title: OZSetupKeys are what the server takes
# custom:
#   match:
#     kinds: [{group: openzro.io, version: v1, kind: OZSetupKey}]
#     operations: [CREATE, UPDATE]
#   timeout: 1s
package openzro.ozsetupkey

import rego.v1

import data.openzro.values

spec := object.get(input.request.object, "spec", {})

deny contains problem if some problem in values.taken("spec.name", object.get(spec, "name", input.name))

deny contains problem if some problem in values.ids(spec, "autoGroupIDs")

deny contains values.needed(sprintf("spec.secretKeyRef.%s", [key]), why) if {
	some key, why in {"name": ": name the Secret", "key": ": name the key in the Secret"}
	values.blank(object.get(spec.secretKeyRef, key, ""))
}

# Setup keys and the API key of a namespace must not share a Secret.
deny contains {"field": "spec.secretKeyRef.name", "msg": msg} if {
	spec.secretKeyRef.name == "openzro-mgmt-api-key"
	msg := "spec.secretKeyRef.name: Secret openzro-mgmt-api-key has the key of the namespace to the server; name another one"
}

# Invalid names of Secrets would otherwise be detected only after the server has created the
# key.
deny contains {"field": field, "msg": msg} if {
	some part, pattern in {"name": `^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$`, "key": `^[-._a-zA-Z0-9]{1,253}$`}
	value := spec.secretKeyRef[part]
	not values.blank(value)
	not regex.match(pattern, value)
	field := sprintf("spec.secretKeyRef.%s", [part])
	msg := sprintf("%s: %q is not a valid %s of a Secret", [field, value, part])
}

deny contains {"field": "spec.managementURL", "msg": msg} if {
	url := spec.managementURL
	url != ""
	not values.is_url(url)
	msg := sprintf("spec.managementURL: %q is not a URL such as https://openzro.example.com", [url])
}

deny contains problem if some problem in values.names(spec, "autoGroups")

deny contains problem if {
	some problem in values.all_group(spec, "autoGroups", `every peer is in "All" already, and the server takes no key with it`)
}

deny contains {"field": "spec.usageLimit", "msg": msg} if {
	spec.usageLimit < 0
	msg := sprintf("spec.usageLimit: %d is below 0, which is any number of peers", [spec.usageLimit])
}

deny contains {"field": "spec.usageLimit", "msg": msg} if {
	spec.type == "one-off"
	spec.usageLimit > 1
	msg := sprintf("spec.usageLimit: %d peers cannot enrol with a key of type one-off; make it reusable", [spec.usageLimit])
}

expiry := spec.expiresIn if spec.expiresIn != ""

units := {"s": 1, "m": 60, "h": 3600, "d": 86400}

is_duration if regex.match(`^([0-9]{1,12}[smhd])+$`, expiry)

# In seconds, where it is a duration.
lifetime := sum(parts) if {
	is_duration
	parts := [seconds |
		some part in regex.find_all_string_submatch_n(`0*([0-9]+)([smhd])`, expiry, -1)
		seconds := to_number(part[1]) * units[part[2]]
	]
}

deny contains {"field": "spec.expiresIn", "msg": msg} if {
	expiry
	not is_duration
	msg := sprintf("spec.expiresIn: %q is not a duration such as 30d, 12h or 1h30m", [expiry])
}

deny contains {"field": "spec.expiresIn", "msg": "spec.expiresIn: the server takes 0 for ever; leave the field out, or give a time"} if lifetime == 0

# The maximum of time.Duration in Go.
deny contains {"field": "spec.expiresIn", "msg": msg} if {
	lifetime > 9223372036
	msg := sprintf("spec.expiresIn: %q is longer than durations can be, 106751d", [expiry])
}
