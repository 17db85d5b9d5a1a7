package openclaw.enterprise.models

import rego.v1

allow if input.user.authenticated == true
