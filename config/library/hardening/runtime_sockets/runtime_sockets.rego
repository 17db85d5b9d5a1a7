# METADATA
# title: Pods must not mount sockets of the container runtime
# description: >-
#   Denies hostPath volumes that are, contain or are below a socket of containerd, CRI-O
#   or Docker. Use it where other hostPath volumes are permitted.
# related_resources:
#   - ref: https://media.defense.gov/2022/Aug/29/2003066362/-1/-1/0/CTR_KUBERNETES_HARDENING_GUIDANCE_1.2_20220829.PDF
#     description: NSA and CISA, Kubernetes Hardening Guidance, Pod security
#   - ref: https://www.cisecurity.org/benchmark/kubernetes
#     description: CIS Kubernetes Benchmark, recommendation 5.2.12
# custom:
#   severity: critical
#   category: hardening
#   rationale: >-
#     A process that can call the container runtime can start privileged containers on
#     the node.
#   remedy: Remove the hostPath volume.
#   match:
#     kinds: [{group: "", kind: Pod}]
#     subresources: [ephemeralcontainers]
#     expand: warn
package library.runtime_sockets

import rego.v1

import data.library.shared.objects
import data.library.shared.pods

# METADATA
# title: Pods must not mount sockets of the container runtime
deny contains violation if {
	some i, volume in pods.spec.volumes
	path := cleaned(volume.hostPath.path)
	some socket in sockets
	overlap(path, socket)
	violation := {
		"msg": sprintf("volume %q gives access to %v: remove its hostPath", [objects.text(volume, "name"), socket]),
		"field": sprintf("spec.volumes[%d].hostPath.path", [i]),
	}
}

sockets := {
	"/run/containerd/containerd.sock",
	"/run/crio/crio.sock",
	"/run/docker.sock",
	"/run/k3s/containerd/containerd.sock",
	"/run/cri-dockerd.sock",
}

overlap(path, socket) if startswith(sprintf("%v/", [socket]), sprintf("%v/", [trim_right(path, "/")]))

overlap(path, socket) if startswith(path, sprintf("%v/", [socket]))

# /var/run is a link to /run. Kubernetes rejects paths with "..".
cleaned(path) := regex.replace(joined, "^/var/run(/|$)", "/run$1") if {
	is_string(path)
	parts := [part | some part in split(path, "/"); not part in {"", "."}]
	joined := sprintf("/%v", [concat("/", parts)])
}
