package library.node_assignment_test

import rego.v1

import data.library.node_assignment
import data.library.shared.testing

fields := {violation.field | some violation in node_assignment.deny}

test_node_names if {
	fields == {"spec.nodeName"} with input as testing.pod({"nodeName": "node-1"})
	fields == set() with input as testing.pod({"nodeName": ""})
	fields == set() with input as object.union(testing.pod({"nodeName": "node-1"}), {"request": {"namespace": "kube-system"}})
}

test_mirrors_of_static_pods if {
	mirror := {"metadata": {"annotations": {"kubernetes.io/config.mirror": "1"}}, "spec": {"nodeName": "node-1"}}
	fields == {"spec.nodeName"} with input as testing.object(mirror)
	fields == set() with input as object.union(testing.object(mirror), {"request": {"userInfo": {"groups": ["system:nodes"]}}})
}
