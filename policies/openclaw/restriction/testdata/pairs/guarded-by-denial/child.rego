package openclaw.enterprise.models

import rego.v1

allow := true

deny if not input.model.provider == "internal"
