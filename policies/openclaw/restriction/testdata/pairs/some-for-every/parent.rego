package openclaw.enterprise.models

import rego.v1

allow if {
	count(input.tools) > 0
	every tool in input.tools { tool.safe == true }
}
