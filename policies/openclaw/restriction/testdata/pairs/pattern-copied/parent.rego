package openclaw.enterprise.models

import rego.v1

allow if regex.match("^gpt-[0-9]+$", input.model.name)
