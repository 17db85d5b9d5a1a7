package openclaw.enterprise.models

import rego.v1

open(class) if class == "public"

open(class) if class == "internal"

allow if {
	open(input.data.classification)
	input.user.team == "research"
}
