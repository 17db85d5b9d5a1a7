package openclaw.enterprise.models

import rego.v1

allow if input.model.name in {"small", "large"}
