# METADATA
# title: Load balancers must not expose administrative ports
# description: >-
#   Denies ports of Services of type LoadBalancer or NodePort that are listed in the
#   parameter deniedPorts.
# related_resources:
#   - ref: https://media.defense.gov/2022/Aug/29/2003066362/-1/-1/0/CTR_KUBERNETES_HARDENING_GUIDANCE_1.2_20220829.PDF
#     description: >-
#       NSA and CISA, Kubernetes Hardening Guidance, Network separation and hardening
# custom:
#   severity: medium
#   category: networking
#   rationale: >-
#     Remote shells, databases and the API of kubelets are targets of constant scans
#     when they are reachable from outside of the cluster.
#   remedy: Use kubectl port-forward or a VPN for administration.
#   parameters:
#     deniedPorts: >-
#       numbers of ports; 22, 23, 2375, 2376, 2379, 2380, 3306, 3389, 5432, 6379, 6443,
#       9200, 10250 and 27017 by default
#   match:
#     kinds: [{group: "", kind: Service}]
package library.service_ports

import rego.v1

import data.library.shared.objects

# METADATA
# title: Load balancers must not expose administrative ports
deny contains violation if {
	objects.spec.type in {"LoadBalancer", "NodePort"}
	some i, port in objects.spec.ports
	some field in ["port", "targetPort"]
	number := port[field]
	number in objects.parameter("deniedPorts", default_ports)
	violation := {
		"msg": sprintf("Service %q exposes port %v outside of the cluster: use port-forward or a VPN", [input.name, number]),
		"field": sprintf("spec.ports[%d].%v", [i, field]),
	}
}

default_ports := [22, 23, 2375, 2376, 2379, 2380, 3306, 3389, 5432, 6379, 6443, 9200, 10250, 27017]
