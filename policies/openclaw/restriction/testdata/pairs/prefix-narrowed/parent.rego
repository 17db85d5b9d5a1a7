package openclaw.enterprise.models

import rego.v1

allow if startswith(input.model.name, "internal/")
