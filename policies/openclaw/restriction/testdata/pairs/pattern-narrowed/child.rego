package openclaw.enterprise.models

import rego.v1

allow if regex.match("^gpt-[45]$", input.model.name)
