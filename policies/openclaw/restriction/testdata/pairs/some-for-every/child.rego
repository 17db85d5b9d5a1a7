package openclaw.enterprise.models

import rego.v1

allow if {
	some tool in input.tools
	tool.safe == true
}
