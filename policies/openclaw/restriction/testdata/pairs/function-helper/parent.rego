package openclaw.enterprise.models

import rego.v1

rank("public") := 0

rank("internal") := 1

rank("confidential") := 2

allow if rank(input.data.classification) < 2
