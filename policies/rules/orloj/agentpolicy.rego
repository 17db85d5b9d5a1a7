# METADATA
# title: AgentPolicies are what orlojd takes
# custom:
#   match:
#     kinds: [{group: orloj.dev, version: v1, kind: AgentPolicy}]
#     operations: [CREATE, UPDATE]
#   timeout: 1s
package orloj.agentpolicy

import rego.v1

import data.orloj.values

spec := object.get(input.request.object, "spec", {})

deny contains problem if some problem in values.unknown(spec, {["apply_mode"]: {"scoped", "global"}})

defaults.spec.apply_mode := "scoped"

patch contains op if some op in values.filled(spec, defaults.spec)
