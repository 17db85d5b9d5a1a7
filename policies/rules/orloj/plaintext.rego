# METADATA
# title: Secrets carry no values where the namespace forbids it
# custom:
#   match:
#     kinds: [{group: orloj.dev, version: v1, kind: Secret}]
#     operations: [CREATE, UPDATE]
#   timeout: 1s
package orloj.plaintext

import rego.v1

forbidden if object.get(input.namespace, ["metadata", "annotations", "orloj.dev/plaintext-secrets"], "allowed") != "allowed"

deny contains {"field": field, "msg": msg} if {
	forbidden
	some part in ["data", "stringData"]
	count(input.request.object.spec[part]) > 0
	field := sprintf("spec.%s", [part])
	msg := sprintf("%s: namespace %q forbids values in manifests (orloj.dev/plaintext-secrets); keep them in a Secret of Kubernetes, and name it in secretRef", [field, input.request.namespace])
}
