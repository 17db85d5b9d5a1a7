package openclaw.enterprise.models

import rego.v1

allow if {
	some name in ["small", "medium"]
	input.model.name == name
}
