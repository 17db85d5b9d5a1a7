package openclaw.enterprise.models

import rego.v1

allowed_models := ["small"]
