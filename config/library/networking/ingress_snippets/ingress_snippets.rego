# METADATA
# title: Ingresses must not contain configuration snippets
# description: >-
#   Denies annotations whose names end in -snippet or -snippets, from which
#   ingress-nginx and other controllers take parts of their configuration.
# related_resources:
#   - ref: https://github.com/kubernetes/ingress-nginx/issues/7837
#     description: CVE-2021-25742
# custom:
#   severity: high
#   category: networking
#   rationale: >-
#     A snippet can read the credentials of the controller, which include all TLS keys
#     of the cluster, and can change the routes of other tenants.
#   remedy: >-
#     Remove the annotation, and use the fields and annotations of the controller for
#     the purpose.
#   match:
#     kinds: [{group: networking.k8s.io, kind: Ingress}]
package library.ingress_snippets

import rego.v1

import data.library.shared.objects

# METADATA
# title: Ingresses must not contain configuration snippets
deny contains violation if {
	some key, _ in input.request.object.metadata.annotations
	regex.match(`-snippets?$`, key)
	objects.has_changed(["metadata", "annotations", key])
	violation := {
		"msg": sprintf("Ingress %q changes the configuration of its controller: remove annotation %v", [input.name, key]),
		"field": sprintf("metadata.annotations[%q]", [key]),
	}
}
