package openclaw.enterprise.models

import rego.v1

allow if {
	input.hour > 9
	input.hour <= 17.5
}
