package openclaw.enterprise.models

import rego.v1

max_tokens := input.tokens if {
	is_number(input.tokens)
	input.tokens >= 0
	input.tokens <= 4000
}
