package openclaw.enterprise.models

import rego.v1

allowed_models contains "small"

allowed_models contains "new" if input.user.role == "tester"
