# METADATA
# title: Claims must not request too much storage
# description: >-
#   Denies PersistentVolumeClaims, and claim templates of StatefulSets, that request
#   more than the parameter maximumClaim.
# related_resources:
#   - ref: https://kubernetes.io/docs/concepts/storage/persistent-volumes/
#     description: Persistent volumes
# custom:
#   severity: medium
#   category: cost
#   rationale: >-
#     Volumes cost money as long as they exist, and most of them cannot be made smaller.
#   remedy: >-
#     Lower spec.resources.requests.storage. Exempt large claims with a PolicyException.
#   parameters:
#     maximumClaim: a quantity; 100Gi by default
#   match:
#     kinds: [{group: "", kind: PersistentVolumeClaim}, {group: apps, kind: StatefulSet}]
package library.claim_size

import rego.v1

import data.library.shared.objects
import data.library.shared.quantities

# METADATA
# title: Claims must not request too much storage
deny contains violation if {
	some path, claim in claims
	maximum := objects.parameter("maximumClaim", "100Gi")
	quantities.resource(claim, "requests", "storage") > quantities.number(maximum)
	violation := {
		"msg": sprintf("%v %q requests more than %v of storage: lower the request", [input.request.object.kind, input.name, maximum]),
		"field": sprintf("%v.resources.requests.storage", [path]),
	}
}

claims["spec"] := objects.spec if {
	input.request.object.kind == "PersistentVolumeClaim"
	objects.has_changed(["spec", "resources"])
}

claims[path] := template.spec if {
	input.request.object.kind == "StatefulSet"
	objects.has_changed(["spec", "volumeClaimTemplates"])
	some i, template in objects.spec.volumeClaimTemplates
	path := sprintf("spec.volumeClaimTemplates[%d].spec", [i])
}
