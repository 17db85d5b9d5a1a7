package openclaw.enterprise.models

import rego.v1

allow if regex.match("^gpt-", input.model.name)
