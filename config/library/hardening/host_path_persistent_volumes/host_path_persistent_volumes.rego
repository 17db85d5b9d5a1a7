# METADATA
# title: PersistentVolumes must not be paths of nodes
# description: Denies PersistentVolumes of type hostPath.
# related_resources:
#   - ref: https://www.cisecurity.org/benchmark/kubernetes
#     description: CIS Kubernetes Benchmark, recommendation 5.1.9
#   - ref: https://media.defense.gov/2022/Aug/29/2003066362/-1/-1/0/CTR_KUBERNETES_HARDENING_GUIDANCE_1.2_20220829.PDF
#     description: NSA and CISA, Kubernetes Hardening Guidance, Pod security
# custom:
#   severity: high
#   category: hardening
#   rationale: >-
#     A claim of such a volume gives a Pod a path of its node, although the Pod has no
#     hostPath volume.
#   remedy: >-
#     Use a CSI driver, or a volume of type local, which an administrator prepares on a
#     disk of its own.
#   match:
#     kinds: [{group: "", kind: PersistentVolume}]
package library.host_path_persistent_volumes

import rego.v1

import data.library.shared.objects

# METADATA
# title: PersistentVolumes must not be paths of nodes
deny contains violation if {
	objects.has_changed(["spec", "hostPath"])
	is_object(objects.spec.hostPath)
	violation := {
		"msg": sprintf("PersistentVolume %q is a path of a node: use a CSI driver", [input.name]),
		"field": "spec.hostPath",
	}
}
