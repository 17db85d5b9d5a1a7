package openclaw.enterprise.models

import rego.v1

deny if input.model.provider == "external"
