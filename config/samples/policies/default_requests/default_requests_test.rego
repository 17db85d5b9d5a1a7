package samples.default_requests_test

import rego.v1

import data.samples.default_requests

test_what_is_missing_is_added if {
	operations := default_requests.patch with input as pod({
		"initContainers": [{"name": "setup"}],
		"containers": [
			{"name": "web", "resources": {"requests": {"cpu": "1"}}},
			{"name": "proxy", "resources": {"requests": {"cpu": "1", "memory": "1Gi"}}},
		],
	})
	operations == {
		{"op": "add", "path": "/spec/initContainers/0/resources/requests/cpu", "value": "100m"},
		{"op": "add", "path": "/spec/initContainers/0/resources/requests/memory", "value": "128Mi"},
		{"op": "add", "path": "/spec/containers/0/resources/requests/memory", "value": "128Mi"},
	}
}

test_a_limit_is_a_request if {
	operations := default_requests.patch with input as pod({"containers": [{
		"name": "web",
		"resources": {"limits": {"memory": "64Mi"}},
	}]})
	{operation.path | some operation in operations} == {"/spec/containers/0/resources/requests/cpu"}
}

test_resources_of_the_pod_are_enough if {
	default_requests.patch == set() with input as pod({
		"resources": {"requests": {"cpu": "1"}, "limits": {"memory": "1Gi"}},
		"containers": [{"name": "web"}],
	})
}

test_parameters_replace_the_default if {
	parameters := {"requests": {"cpu": "50m"}}
	operations := default_requests.patch with input as object.union(
		pod({"containers": [{"name": "web"}]}),
		{"parameters": parameters},
	)
	operations == {{"op": "add", "path": "/spec/containers/0/resources/requests/cpu", "value": "50m"}}
}

test_a_patched_pod_needs_no_patch if {
	before := pod({"containers": [{"name": "web", "resources": {"requests": {}}}]})
	operations := default_requests.patch with input as before
	count(operations) == 2

	after := json.patch(before.request.object, [operation | some operation in operations])
	default_requests.patch == set() with input as pod(after.spec)
}

test_missing_fields_need_no_patch if {
	every spec in [{}, null, {"containers": null}, {"containers": []}, {"containers": [null]}] {
		default_requests.patch == set() with input as pod(spec)
	}
	default_requests.patch == set() with input as {"name": "web", "request": {"object": null}}
}

pod(spec) := {"name": "web", "parameters": {}, "request": {
	"kind": {"group": "", "version": "v1", "kind": "Pod"},
	"object": {"metadata": {"name": "web"}, "spec": spec},
}}
