package library.shared.pods_test

import rego.v1

import data.library.shared.pods
import data.library.shared.testing

request := testing.pod({
	"os": {"name": "windows"},
	"hostUsers": false,
	"securityContext": {"runAsUser": 1},
	"initContainers": [{"name": "setup", "securityContext": {"privileged": true}}],
	"containers": [{"name": "web"}, null],
	"ephemeralContainers": [{"name": "debug"}],
})

test_containers_of_all_lists if {
	found := {path | some path, _ in pods.containers} with input as request
	found == {"spec.initContainers[0]", "spec.containers[0]", "spec.ephemeralContainers[0]"}
	with_resources := {path | some path, _ in pods.resource_containers} with input as request
	with_resources == {"spec.initContainers[0]", "spec.containers[0]"}
}

test_contexts_and_their_owners if {
	contexts := pods.contexts with input as request
	contexts == {
		"spec.securityContext": {"runAsUser": 1},
		"spec.initContainers[0].securityContext": {"privileged": true},
	}
	owners := {pods.owner(path) | some path, _ in contexts} with input as request
	owners == {`Pod "web"`, `container "setup"`}
}

test_settings if {
	pods.setting({"securityContext": {"privileged": true}}, "privileged") == true
	pods.setting({"securityContext": null}, "privileged") == null
	pods.setting({}, "privileged") == null
}

test_kinds_of_pods if {
	pods.is_windows with input as request
	pods.has_user_namespace with input as request
	not pods.is_windows with input as testing.pod({})
	not pods.has_user_namespace with input as testing.pod({})
}

test_resources_of_the_pod if {
	pods.has_resources("cpu") with input as testing.pod({"resources": {"requests": {"cpu": "1"}}})
	not pods.has_resources("cpu") with input as testing.pod({"resources": {"requests": {"memory": "1Gi"}}})
}

test_changes_of_timing if {
	gated := {"spec": {"schedulingGates": [{"name": "a"}], "containers": [{"name": "web"}]}}
	ready := {"spec": {"schedulingGates": [], "containers": [{"name": "web"}]}}
	not pods.spec with input as testing.update(ready, gated)
	pods.spec with input as testing.update({"spec": {"hostNetwork": true}}, ready)
	pods.spec with input as testing.pod({"schedulingGates": []})
}
