package orloj.others_test

import rego.v1

import data.orloj.agentpolicy
import data.orloj.key
import data.orloj.mapping
import data.orloj.modelendpoint
import data.orloj.plaintext
import data.orloj.secret

object_with(spec) := {"request": {"object": {"spec": spec}}}

test_model_endpoints if {
	count(modelendpoint.deny) == 1 with input as object_with({})
	count(modelendpoint.deny) == 0 with input as object_with({"default_model": "m"})
	modelendpoint.defaults.spec.provider == "openai" with input as object_with({})
	modelendpoint.defaults.spec.base_url == modelendpoint.urls.openai with input as object_with({})
	modelendpoint.defaults.spec.allowPrivate == false with input as object_with({})
	modelendpoint.defaults.spec.allowPrivate == true with input as object_with({"provider": "Ollama"})
	not modelendpoint.defaults.spec.base_url with input as object_with({"provider": "x"})
	{op.value | some op in modelendpoint.patch} == {"openai"} with input as object_with({"provider": " "})
}

test_agent_policies if {
	agentpolicy.defaults.spec.apply_mode == "scoped"
	count(agentpolicy.deny) == 0 with input as object_with({"apply_mode": "Global"})
	{op.value | some op in agentpolicy.patch} == {"scoped"} with input as object_with({"apply_mode": ""})
	count(agentpolicy.deny) == 1 with input as object_with({"apply_mode": "x"})
}

secret_fields(spec) := {d.field | some d in denials} if {
	denials := secret.deny with input as object_with(spec)
}

test_secrets if {
	secret_fields({"data": {"k": "aGVsbG8="}, "stringData": {"k": "hello"}}) == set()
	secret_fields({"data": {"k": "hello!"}}) == {"spec.data.k"}
	secret_fields({"stringData": {"k": " "}}) == {"spec.stringData.k"}
	secret_fields({"stringData": {" ": "v"}}) == {"spec.stringData"}
}

keyed(name, annotations, facts) := {d.field | some d in denials} if {
	denials := key.deny with input as {
		"name": name,
		"request": {"object": {"metadata": {"name": name, "annotations": annotations}}},
		"facts": object.union({"target": "own"}, facts),
	}
}

test_keys if {
	keyed("a", {}, {}) == set()
	keyed("a", {"orloj.dev/target-namespace": "own", "orloj.dev/deletion-policy": "Retain"}, {}) == set()
	keyed("LOGS", {}, {}) == {"metadata.name"}
	keyed(concat("", ["x" | some _ in numbers.range(1, 250)]), {}, {}) == {"metadata.name"}
	keyed("a", {"orloj.dev/target-namespace": "a b"}, {"target": "a b"}) == {"metadata.annotations[orloj.dev/target-namespace]"}
	keyed("a", {"orloj.dev/deletion-policy": "x"}, {}) == {"metadata.annotations[orloj.dev/deletion-policy]"}
	keyed("a", {}, {"taken": {"kind": "Agent", "namespace": "n", "name": "a"}}) == {"metadata.name"}
}

test_labels_of_orlojd if {
	denials := key.deny with input as {
		"name": "a",
		"request": {"object": {"metadata": {"name": "a", "labels": {"orloj.dev/mcp-generated": "true", "mine": "true"}}}},
		"facts": {"target": "own"},
	}
	{d.field | some d in denials} == {"metadata.labels[orloj.dev/mcp-generated]"}
}

mapped(facts, namespace) := [d.msg | some d in denials] if {
	denials := mapping.deny with input as {"request": {"namespace": "own"}, "facts": facts, "namespace": namespace}
}

allowing(list) := {"metadata": {"annotations": {"orloj.dev/allowed-target-namespaces": list}}}

test_mapping if {
	mapped({"mapping": "Restricted", "target": "own"}, {}) == []
	mapped({"mapping": "Open", "target": "x"}, {}) == []
	mapped({"mapping": "Restricted", "target": "team-x"}, allowing("a, team-*")) == []
	mapped({"mapping": "Restricted", "target": "a/b"}, {}) == []
	contains(mapped({"mapping": "Restricted", "target": "x"}, {})[0], "namespace own 'orloj.dev/allowed-target-namespaces=x'")
	contains(mapped({"mapping": "Restricted", "target": "x"}, allowing("a,'"))[0], "namespaces=a,x'")
}

plain(annotations, spec) := {d.field | some d in denials} if {
	denials := plaintext.deny with input as {
		"request": {"namespace": "own", "object": {"spec": spec}},
		"namespace": {"metadata": {"annotations": annotations}},
	}
}

test_plaintext if {
	plain({}, {"data": {"k": "v"}}) == set()
	plain({"orloj.dev/plaintext-secrets": "allowed"}, {"data": {"k": "v"}}) == set()
	plain({"orloj.dev/plaintext-secrets": "forbidden"}, {"data": {}}) == set()
	plain({"orloj.dev/plaintext-secrets": "forbidden"}, {"data": {"k": "v"}, "stringData": {"k": "v"}}) == {"spec.data", "spec.stringData"}
}
