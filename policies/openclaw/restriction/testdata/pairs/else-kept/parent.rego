package openclaw.enterprise.models

import rego.v1

allow := false if {
	input.data.classification == "restricted"
} else := true if {
	input.user.authenticated == true
}
