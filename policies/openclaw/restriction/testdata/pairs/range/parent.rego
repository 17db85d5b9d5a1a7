package openclaw.enterprise.models

import rego.v1

allow if {
	input.hour >= 8
	input.hour < 18
}
