package openclaw.enterprise.models

import rego.v1

allow := true if {
	input.user.authenticated == true
	input.data.classification in {"public", "internal"}
}
