# METADATA
# title: Names that Lintel needs stay free
# description: |
#   input.facts has users, who may write all objects, and claimants: the group, kind,
#   namespace and name of existing objects whose controllers create an object of this name.
# custom:
#   match:
#     operations: [CREATE]
package controlled.names

import rego.v1

import data.controlled.subject

deny contains {"field": "metadata.name", "msg": msg} if {
	not input.request.userInfo.username in input.facts.users
	some claimant in input.facts.claimants
	msg := sprintf("metadata.name: Lintel creates %s for %s; choose another name", [subject.name, subject.reference(claimant)])
}
