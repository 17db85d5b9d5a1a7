package samples.pod_security_restricted_test

import rego.v1

import data.samples.pod_security_restricted

# Each is a change to an admitted Pod, with the resulting message of one rule.
denied := [
	{
		"change": {"hostPID": true},
		"msg": `Pod "web" shares a namespace with its node: remove spec.hostPID`,
		"field": "spec.hostPID",
		"control": "hostNamespaces",
	},
	{
		"change": {"volumes": [{"name": "root", "hostPath": {"path": "/"}}]},
		"msg": concat(" ", [
			`volume "root" of Pod "web" is of type hostPath: use one of configMap, csi, downwardAPI, emptyDir,`,
			"ephemeral, image, persistentVolumeClaim, projected, secret",
		]),
		"field": "spec.volumes[0]",
		"control": "restrictedVolumes",
	},
	{
		"change": {"volumes": [{"name": "what", "emptyDir": null}]},
		"msg": concat(" ", [
			`volume "what" of Pod "web" is of type unknown: use one of configMap, csi, downwardAPI, emptyDir,`,
			"ephemeral, image, persistentVolumeClaim, projected, secret",
		]),
		"field": "spec.volumes[0]",
		"control": "restrictedVolumes",
	},
	{
		"change": {"containers": [container({"allowPrivilegeEscalation": true})]},
		"msg": `container "a" of Pod "web" may gain privileges: set securityContext.allowPrivilegeEscalation to false`,
		"field": "spec.containers[0].securityContext.allowPrivilegeEscalation",
		"control": "allowPrivilegeEscalation",
	},
	{
		"change": {"containers": [container({"runAsNonRoot": false})]},
		"msg": `container "a" of Pod "web" may run as root: set securityContext.runAsNonRoot to true`,
		"field": "spec.containers[0].securityContext.runAsNonRoot",
		"control": "runAsNonRoot",
	},
	{
		"change": {"securityContext": {"runAsNonRoot": null}},
		"msg": concat(" ", [
			`container "a" of Pod "web" may run as root:`,
			"set securityContext.runAsNonRoot to true, on it or on the Pod",
		]),
		"field": "spec.containers[0].securityContext.runAsNonRoot",
		"control": "runAsNonRoot",
	},
	{
		"change": {"securityContext": {"runAsUser": 0}},
		"msg": `Pod "web" runs as root: set securityContext.runAsUser to another user than 0, or remove it`,
		"field": "spec.securityContext.runAsUser",
		"control": "runAsUser",
	},
	{
		"change": {"containers": [container({"seccompProfile": {"type": "Unconfined"}})]},
		"msg": concat(" ", [
			`container "a" of Pod "web" has the seccomp profile "Unconfined":`,
			"set securityContext.seccompProfile.type to RuntimeDefault or Localhost",
		]),
		"field": "spec.containers[0].securityContext.seccompProfile.type",
		"control": "seccompProfile",
	},
	{
		"change": {"securityContext": {"seccompProfile": null}},
		"msg": concat(" ", [
			`container "a" of Pod "web" has no seccomp profile:`,
			"set securityContext.seccompProfile.type to RuntimeDefault, on it or on the Pod",
		]),
		"field": "spec.containers[0].securityContext.seccompProfile",
		"control": "seccompProfile",
	},
	{
		"change": {"containers": [container({"capabilities": {"drop": ["NET_RAW"]}})]},
		"msg": `container "a" of Pod "web" keeps capabilities: set securityContext.capabilities.drop to [ALL]`,
		"field": "spec.containers[0].securityContext.capabilities.drop",
		"control": "capabilities",
	},
	{
		"change": {"containers": [container({"capabilities": {"add": ["NET_BIND_SERVICE", "CHOWN"]}})]},
		"msg": concat(" ", [
			`container "a" of Pod "web" adds the capability CHOWN: remove it from securityContext.capabilities.add;`,
			"only NET_BIND_SERVICE may be there",
		]),
		"field": "spec.containers[0].securityContext.capabilities.add[1]",
		"control": "capabilities",
	},
	{
		"change": {"hostUsers": false, "containers": [container({"procMount": "Unmasked"})]},
		"msg": concat(" ", [
			`container "a" of Pod "web" sees /proc of its node:`,
			`remove securityContext.procMount, which is "Unmasked"`,
		]),
		"field": "spec.containers[0].securityContext.procMount",
		"control": "procMount",
	},
]

test_each_control_says_what_to_do if {
	every want in denied {
		violations := pod_security_restricted.deny with input as pod(object.union(restricted, want.change))
		violations == {{"msg": want.msg, "field": want.field, "details": {"control": want.control}}}
	}
}

test_every_list_of_containers_is_judged if {
	every field in ["containers", "initContainers", "ephemeralContainers"] {
		violations := pod_security_restricted.deny with input as pod({field: [{"name": "a"}]})
		{violation.field | some violation in violations} == {
			sprintf("spec.%v[0].securityContext.allowPrivilegeEscalation", [field]),
			sprintf("spec.%v[0].securityContext.runAsNonRoot", [field]),
			sprintf("spec.%v[0].securityContext.seccompProfile", [field]),
			sprintf("spec.%v[0].securityContext.capabilities.drop", [field]),
		}
	}
}

test_containers_may_say_it_for_themselves if {
	pod_security_restricted.deny == set() with input as pod({"containers": [container({
		"runAsNonRoot": true,
		"seccompProfile": {"type": "Localhost", "localhostProfile": "web.json"},
	})]})
}

test_windows_lacks_what_is_of_linux if {
	pod_security_restricted.deny == set() with input as pod({
		"os": {"name": "windows"},
		"securityContext": {"runAsNonRoot": true},
		"containers": [{"name": "a"}],
	})
}

test_a_user_namespace_may_have_root if {
	pod_security_restricted.deny == set() with input as pod(object.union(restricted, {
		"hostUsers": false,
		"securityContext": {"runAsNonRoot": false, "runAsUser": 0},
	}))
}

test_what_is_restricted_is_admitted if {
	pod_security_restricted.deny == set() with input as pod(restricted)
}

test_missing_fields_are_admitted if {
	every spec in [{}, null, {"containers": null, "volumes": null}] {
		pod_security_restricted.deny == set() with input as pod(spec)
	}
	pod_security_restricted.deny == set() with input as {"name": "web", "request": {"object": null}}
}

restricted := {
	"securityContext": {"runAsNonRoot": true, "runAsUser": 1, "seccompProfile": {"type": "RuntimeDefault"}},
	"volumes": [{"name": "tmp", "emptyDir": {}}, {"name": "data", "persistentVolumeClaim": {"claimName": "data"}}],
	"containers": [container({"capabilities": {"add": ["NET_BIND_SERVICE"]}})],
}

container(change) := {"name": "a", "securityContext": object.union(
	{"allowPrivilegeEscalation": false, "capabilities": {"drop": ["ALL"]}},
	change,
)}

pod(spec) := {"name": "web", "request": {
	"kind": {"group": "", "version": "v1", "kind": "Pod"},
	"operation": "CREATE",
	"object": {"metadata": {"name": "web"}, "spec": spec},
}}
