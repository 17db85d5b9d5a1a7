package openzro.pod_test

import rego.v1

import data.openzro.pod

ready := {
	"name": "ci", "found": true, "ready": true, "reason": "", "message": "",
	"secret": {"name": "ci-key", "key": "setupKey"}, "managementURL": "https://openzro.example.com",
	"volumes": [], "volumeMounts": [], "extraDNSLabels": true,
}

review(annotations, spec, key) := {
	"request": {"namespace": "shop", "object": {"metadata": {"generateName": "web-", "annotations": annotations}, "spec": spec}},
	"facts": {"clientImage": "openzro/openzro:latest", "setupKey": object.union(ready, key)},
}

named := {"openzro.io/setup-key": "ci"}

plain := {"containers": [{"name": "web"}]}

client := {
	"name": "openzro",
	"image": "openzro/openzro:latest",
	"env": [
		{"name": "OZ_SETUP_KEY", "valueFrom": {"secretKeyRef": {"name": "ci-key", "key": "setupKey"}}},
		{"name": "OZ_MANAGEMENT_URL", "value": "https://openzro.example.com"},
	],
	"securityContext": {"capabilities": {"add": ["NET_ADMIN"]}},
}

denied(annotations, spec, key) := {d.field | some d in problems} if {
	problems := pod.deny with input as review(annotations, spec, key)
}

test_a_container if {
	pod.patch == {{"op": "add", "path": "/spec/containers/-", "value": client}} with input as review(named, plain, {})
	denied(named, plain, {}) == set()
}

test_a_native_sidecar if {
	annotations := object.union(named, {"openzro.io/init-sidecar": "true", "openzro.io/extra-dns-labels": "web, web.eu,"})
	spec := object.union(plain, {"initContainers": [{"name": "first"}]})
	whole := object.union(client, {"restartPolicy": "Always", "env": array.concat(client.env, [{"name": "OZ_EXTRA_DNS_LABELS", "value": "web,web.eu"}])})
	pod.patch == {{"op": "add", "path": "/spec/initContainers", "value": [whole, {"name": "first"}]}} with input as review(annotations, spec, {})
	pod.warn == set() with input as review(annotations, spec, {})
	count(pod.warn) == 1 with input as review(object.union(named, {"openzro.io/init-sidecar": "True"}), plain, {})
}

# A volume that the Pod has already is the Pod's.
test_volumes if {
	key := {"volumes": [{"name": "state"}, {"name": "tmp"}], "volumeMounts": [{"name": "state", "mountPath": "/var/lib/openzro"}]}
	spec := object.union(plain, {"volumes": [{"name": "tmp", "emptyDir": {}}]})
	pod.patch == {
		{"op": "add", "path": "/spec/containers/-", "value": object.union(client, {"volumeMounts": key.volumeMounts})},
		{"op": "add", "path": "/spec/volumes", "value": [{"name": "tmp", "emptyDir": {}}, {"name": "state"}]},
	} with input as review(named, spec, key)
}

# Z21: the original added another client at each evaluation.
test_once if {
	every list in ["containers", "initContainers"] {
		spec := object.union({"containers": [{"name": "web"}]}, {list: [client]})
		pod.patch == set() with input as review(named, spec, {})
		denied(named, spec, {}) == set()
	}
}

test_another_container_of_the_name if {
	spec := {"containers": [{"name": "openzro", "env": [{"name": "X"}]}]}
	pod.patch == set() with input as review(named, spec, {})
	denied(named, spec, {}) == {"spec.containers"}
}

test_pods_that_ask_for_nothing if {
	pod.patch == set() with input as review({}, plain, {})
	denied({}, plain, {"ready": false}) == set()
	pod.patch == set() with input as {"request": {"object": {"metadata": {}, "spec": plain}}}
	pod.deny == set() with input as {"request": {"object": {"metadata": {}, "spec": plain}}}
}

test_keys_that_are_not_ready if {
	field := "metadata.annotations[openzro.io/setup-key]"
	pod.patch == set() with input as review(named, plain, {"ready": false})
	denied({"openzro.io/setup-key": " "}, plain, {"name": "", "found": false, "ready": false}) == {field}
	denied(named, plain, {"found": false, "ready": false}) == {field}
	problems := pod.deny with input as review(named, plain, {"ready": false, "reason": "SecretNotExists", "message": "there is no Secret ci-key"})
	problems == {{
		"field": field,
		"msg": concat("", [
			field, `: OZSetupKey "ci" is not ready (SecretNotExists: there is no Secret ci-key); `,
			"see: kubectl -n shop describe ozsetupkey ci",
		]),
	}}
}

# Z16: the original requested labels with keys that do not allow them.
test_dns_labels if {
	field := "metadata.annotations[openzro.io/extra-dns-labels]"
	denied(labelled("a b"), plain, {}) == {field}
	denied(labelled("web"), plain, {}) == set()
	denied(labelled("web"), plain, {"extraDNSLabels": false}) == {field}
	denied(labelled(concat(",", [sprintf("a%d", [i]) | some i in numbers.range(1, 33)])), plain, {}) == {field}
}

labelled(labels) := object.union(named, {"openzro.io/extra-dns-labels": labels})

profile := {"name": "all", "denied": "", "mode": "Container", "extraDNSLabels": [], "image": "", "env": []}

selected(annotations, key, changes) := object.union(review(annotations, plain, key), {"facts": {"profile": object.union(profile, changes)}})

noted := {"op": "add", "path": "/metadata/annotations/openzro.io~1sidecar-profile", "value": "all"}

test_profiles if {
	pod.patch == {noted, {"op": "add", "path": "/spec/containers/-", "value": client}} with input as selected({}, {}, {})
	pod.deny == set() with input as selected({}, {}, {})
	override := {
		"mode": "Sidecar", "extraDNSLabels": ["web", "web.eu"], "image": "client:2", "env": [{"name": "A", "value": "b"}],
		"securityContext": {"privileged": true},
	}
	whole := object.union(client, {
		"image": "client:2", "restartPolicy": "Always", "securityContext": {"capabilities": {"add": ["NET_ADMIN"]}, "privileged": true},
		"env": array.concat(client.env, [{"name": "OZ_EXTRA_DNS_LABELS", "value": "web,web.eu"}, {"name": "A", "value": "b"}]),
	})
	pod.patch == {noted, {"op": "add", "path": "/spec/initContainers", "value": [whole]}} with input as selected({}, {}, override)
}

# The owner of a Pod has the last word.
test_a_pod_that_a_profile_selects_against_its_will if {
	pod.patch == set() with input as selected({"openzro.io/inject": "false"}, {"found": false, "ready": false}, {})
	pod.deny == set() with input as selected({"openzro.io/inject": "false"}, {"found": false, "ready": false}, {"denied": "no"})
	count(pod.warn) == 1 with input as selected({"openzro.io/inject": "no"}, {}, {})
	pod.patch == {{"op": "add", "path": "/spec/containers/-", "value": client}} with input as selected(named, {}, {"image": "client:2", "mode": "Sidecar"})
}

test_profiles_that_cannot_be_used if {
	every words, case in {
		"the rules deny the profile": [{}, {"denied": "spec.x: no"}],
		"there is no OZSetupKey": [{"found": false, "ready": false}, {}],
		"is not ready (NoKey: none)": [{"ready": false, "reason": "NoKey", "message": "none"}, {}],
		"lets peers have no spec.extraDNSLabels": [{"extraDNSLabels": false}, {"extraDNSLabels": ["web"]}],
	} {
		problems := pod.deny with input as selected({}, case[0], case[1])
		count(problems) == 1
		some problem in problems
		problem.field == "metadata.labels"
		contains(problem.msg, words)
		contains(problem.msg, "openzro.io/inject=false")
	}
	pod.patch == set() with input as selected({}, {}, {"denied": "spec.x: no"})
}
