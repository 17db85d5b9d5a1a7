# METADATA
# title: Workloads must not be in the namespace default
# description: Denies Pods, Services and workloads in the namespace default.
# related_resources:
#   - ref: https://www.cisecurity.org/benchmark/kubernetes
#     description: CIS Kubernetes Benchmark, recommendation 5.7.4 and 5.7.1
# custom:
#   severity: low
#   category: hardening
#   rationale: >-
#     Objects in the namespace default share its quotas, its policies and the
#     permissions that were granted for it by mistake.
#   remedy: Create a namespace for the workload.
#   match:
#     kinds:
#       - {group: "", kind: Pod}
#       - {group: "", kind: Service}
#       - {group: "", kind: PersistentVolumeClaim}
#       - {group: apps, kind: Deployment}
#       - {group: apps, kind: StatefulSet}
#       - {group: apps, kind: DaemonSet}
#       - {group: batch, kind: Job}
#       - {group: batch, kind: CronJob}
#     namespaces: [default]
#     operations: [CREATE]
package library.default_namespace

import rego.v1

# METADATA
# title: Workloads must not be in the namespace default
deny contains violation if {
	not is_api_service
	violation := {
		"msg": sprintf("%v %q is in the namespace default: create a namespace for it", [input.request.object.kind, input.name]),
		"field": "metadata.namespace",
	}
}

# The API server creates its own Service.
is_api_service if {
	input.request.object.kind == "Service"
	input.name == "kubernetes"
}
