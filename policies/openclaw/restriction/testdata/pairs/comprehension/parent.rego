package openclaw.enterprise.models

import rego.v1

allow if {
	count([tool | some tool in input.tools; tool.risk > 3]) == 0
}
