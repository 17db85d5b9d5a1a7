package openclaw.enterprise.models

import rego.v1

default allow := true
