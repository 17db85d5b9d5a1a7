package samples.pods_test

import rego.v1

import data.samples.pods

test_containers_are_found_in_every_list if {
	containers := pods.containers with input as pod({
		"initContainers": [{"name": "setup"}],
		"containers": [{"name": "web"}, {"name": "proxy"}],
		"ephemeralContainers": [{"name": "debug"}],
	})
	containers == {
		"spec.initContainers[0]": {"name": "setup"},
		"spec.containers[0]": {"name": "web"},
		"spec.containers[1]": {"name": "proxy"},
		"spec.ephemeralContainers[0]": {"name": "debug"},
	}
}

test_the_pod_and_its_containers_may_have_a_security_context if {
	subjects := pods.subjects with input as pod({
		"securityContext": {"runAsUser": 1},
		"containers": [{"name": "web", "securityContext": null}],
	})
	subjects == {
		{"words": `Pod "web"`, "path": "spec.securityContext", "context": {"runAsUser": 1}},
		{
			"words": `container "web" of Pod "web"`,
			"path": "spec.containers[0].securityContext",
			"context": {},
		},
	}
}

test_an_update_is_judged_if_it_changes_the_spec if {
	old := {"containers": [{"name": "web"}]}
	every spec in [old, {"containers": [{"name": "web"}], "ephemeralContainers": []}] {
		request := {"operation": "UPDATE", "object": {"spec": spec}, "oldObject": {"spec": old}}
		judged := {path | some path, _ in pods.containers} with input as {"name": "web", "request": request}
		judged == {"spec.containers[0]" | spec != old}
	}
}

test_a_setting_is_null_where_there_is_none if {
	every owner in [{}, null, {"securityContext": null}, {"securityContext": {"capabilities": null}}] {
		pods.setting(owner, ["capabilities", "drop"]) == null
	}
	pods.setting({"securityContext": {"capabilities": {"drop": ["ALL"]}}}, ["capabilities", "drop"]) == ["ALL"]
}

test_what_has_no_name_has_an_empty_one if {
	every part in [{}, null, {"name": null}] {
		pods.name(part) == ""
	}
	pods.words({}) == `container "" of Pod "web"` with input as pod({})
}

test_windows_and_user_namespaces_are_told_by_the_spec if {
	pods.is_windows with input as pod({"os": {"name": "windows"}})
	not pods.is_windows with input as pod({"os": {"name": "linux"}})
	not pods.is_windows with input as pod({})
	pods.has_user_namespace with input as pod({"hostUsers": false})
	not pods.has_user_namespace with input as pod({"hostUsers": true})
	not pods.has_user_namespace with input as pod({})
}

test_missing_fields_have_no_parts if {
	every spec in [{}, null, {"containers": null}, {"containers": []}, {"containers": [null]}] {
		pods.containers == {} with input as pod(spec)
	}
	pods.containers == {} with input as {"name": "web", "request": {"object": null}}
	pods.subjects == set() with input as {"name": "web", "request": {"object": null}}
}

pod(spec) := {"name": "web", "request": {"operation": "CREATE", "object": {
	"metadata": {"name": "web"},
	"spec": spec,
}}}
