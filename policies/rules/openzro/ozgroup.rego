# METADATA
# title: OZGroups are what the server takes
# custom:
#   match:
#     kinds: [{group: openzro.io, version: v1, kind: OZGroup}]
#     operations: [CREATE, UPDATE]
package openzro.ozgroup

import rego.v1

import data.openzro.values

spec := object.get(input.request.object, "spec", {})

deny contains values.needed("spec.name", ": it is the name of the group at the server") if values.blank(object.get(spec, "name", ""))

deny contains problem if some problem in values.taken("spec.name", spec.name)
