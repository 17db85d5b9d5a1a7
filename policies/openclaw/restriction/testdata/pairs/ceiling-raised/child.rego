package openclaw.enterprise.models

import rego.v1

default max_tokens := 2000

max_tokens := 8000 if input.user.role == "analyst"
