package openclaw.enterprise.models

import rego.v1

max_tokens := -1
