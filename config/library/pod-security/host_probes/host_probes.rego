# METADATA
# title: Probes and lifecycle hooks must call the container itself
# description: >-
#   Denies the field host of probes and lifecycle hooks. Control "Host Probes /
#   Lifecycle Hooks" of Pod Security baseline.
# related_resources:
#   - ref: https://kubernetes.io/docs/concepts/security/pod-security-standards/
#     description: Pod Security Standards
# custom:
#   severity: medium
#   category: pod-security
#   rationale: >-
#     The kubelet calls the host of a probe from the network of the node. A Pod can use
#     it to reach services that are closed to Pods.
#   remedy: Remove the field host from httpGet and tcpSocket.
#   match:
#     kinds: [{group: "", kind: Pod}]
#     subresources: [ephemeralcontainers]
#     expand: warn
package library.host_probes

import rego.v1

import data.library.shared.pods

# METADATA
# title: No hosts in probes
deny contains violation if {
	some path, container in pods.containers
	some probe in ["livenessProbe", "readinessProbe", "startupProbe"]
	some action, host in hosts(container[probe])
	violation := calls_host(path, container, concat(".", [probe, action, "host"]), host)
}

# METADATA
# title: No hosts in lifecycle hooks
deny contains violation if {
	some path, container in pods.containers
	some hook in ["postStart", "preStop"]
	some action, host in hosts(container.lifecycle[hook])
	violation := calls_host(path, container, concat(".", ["lifecycle", hook, action, "host"]), host)
}

hosts(handler) := {action: host |
	some action in ["httpGet", "tcpSocket"]
	host := handler[action].host
	not host in {"", null}
}

calls_host(path, container, field, host) := {
	"msg": sprintf("%v calls host %v from the network of the node: remove %v", [pods.describe(container), host, field]),
	"field": sprintf("%v.%v", [path, field]),
}
