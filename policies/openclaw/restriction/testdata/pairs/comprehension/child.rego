package openclaw.enterprise.models

import rego.v1

allow if {
	every tool in input.tools { tool.risk <= 3 }
}
