package openclaw.enterprise.models

import rego.v1

allow if {
	not input.model.external
	not input.user.guest
}
