package openclaw.enterprise.models

import rego.v1

names := {"small", "large"} - {"large"}

trusted if input.model.name == "small"

allow if trusted
