# METADATA
# title: Pods must not mount paths of the node
# description: >-
#   Denies hostPath volumes. Control "HostPath Volumes" of Pod Security baseline.
# related_resources:
#   - ref: https://kubernetes.io/docs/concepts/security/pod-security-standards/
#     description: Pod Security Standards
#   - ref: https://www.cisecurity.org/benchmark/kubernetes
#     description: CIS Kubernetes Benchmark, recommendation 5.2.12
#   - ref: https://media.defense.gov/2022/Aug/29/2003066362/-1/-1/0/CTR_KUBERNETES_HARDENING_GUIDANCE_1.2_20220829.PDF
#     description: NSA and CISA, Kubernetes Hardening Guidance, Pod security
# custom:
#   severity: high
#   category: pod-security
#   rationale: >-
#     A path of the node gives access to credentials of the kubelet, sockets of the
#     container runtime and files of other Pods.
#   remedy: >-
#     Use a persistentVolumeClaim, a configMap, a secret or an emptyDir in place of
#     hostPath.
#   match:
#     kinds: [{group: "", kind: Pod}]
#     subresources: [ephemeralcontainers]
#     expand: warn
package library.host_path_volumes

import rego.v1

import data.library.shared.objects
import data.library.shared.pods

# METADATA
# title: No hostPath volumes
deny contains violation if {
	some i, volume in pods.spec.volumes
	is_object(volume.hostPath)
	violation := {
		"msg": sprintf(
			"volume %q mounts a path of the node: use a persistentVolumeClaim or an emptyDir in place of hostPath",
			[objects.text(volume, "name")],
		),
		"field": sprintf("spec.volumes[%d].hostPath", [i]),
	}
}
