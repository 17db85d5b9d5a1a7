# METADATA
# title: Namespaces must enforce a level of Pod Security
# description: >-
#   Requires the label pod-security.kubernetes.io/enforce with the level baseline or
#   restricted on each Namespace.
# related_resources:
#   - ref: https://kubernetes.io/docs/concepts/security/pod-security-standards/
#     description: Pod Security Standards
#   - ref: https://www.cisecurity.org/benchmark/kubernetes
#     description: CIS Kubernetes Benchmark, recommendation 5.2.1
#   - ref: https://kubernetes.io/docs/concepts/security/pod-security-admission/
#     description: Pod Security Admission
# custom:
#   severity: medium
#   category: multi-tenancy
#   rationale: >-
#     The admission of the API server itself enforces the label, also while no webhook
#     is available.
#   remedy: >-
#     Add the label pod-security.kubernetes.io/enforce with the value baseline or
#     restricted.
#   match:
#     kinds: [{group: "", kind: Namespace}]
#     excludedNamespaces: ["kube-*"]
package library.namespace_pod_security

import rego.v1

import data.library.shared.objects

# METADATA
# title: Namespaces must enforce a level of Pod Security
deny contains violation if {
	objects.has_changed(["metadata", "labels", "pod-security.kubernetes.io/enforce"])
	level := objects.text(object.get(input.request.object, ["metadata", "labels"], {}), "pod-security.kubernetes.io/enforce")
	not level in {"baseline", "restricted"}
	violation := {
		"msg": sprintf("Namespace %q enforces the level %q: set label pod-security.kubernetes.io/enforce to baseline or restricted", [input.name, level]),
		"field": `metadata.labels["pod-security.kubernetes.io/enforce"]`,
	}
}
