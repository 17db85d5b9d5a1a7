package samples.pod_security_baseline_test

import rego.v1

import data.samples.pod_security_baseline

# Each is a Pod's spec that one rule denies, with the message and the field.
denied := [
	{
		"spec": {"securityContext": {"windowsOptions": {"hostProcess": true}}},
		"msg": `Pod "web" is a process of its Windows node: remove securityContext.windowsOptions.hostProcess`,
		"field": "spec.securityContext.windowsOptions.hostProcess",
		"control": "windowsHostProcess",
	},
	{
		"spec": {"hostNetwork": true},
		"msg": `Pod "web" shares a namespace with its node: remove spec.hostNetwork`,
		"field": "spec.hostNetwork",
		"control": "hostNamespaces",
	},
	{
		"spec": {"containers": [{"name": "a", "securityContext": {"privileged": true}}]},
		"msg": `container "a" of Pod "web" is privileged: remove securityContext.privileged`,
		"field": "spec.containers[0].securityContext.privileged",
		"control": "privileged",
	},
	{
		"spec": {"containers": [{"name": "a", "securityContext": {"capabilities": {"add": ["KILL", "SYS_ADMIN"]}}}]},
		"msg": concat(" ", [
			`container "a" of Pod "web" adds the capability SYS_ADMIN:`,
			"remove it from securityContext.capabilities.add",
		]),
		"field": "spec.containers[0].securityContext.capabilities.add[1]",
		"control": "capabilities",
	},
	{
		"spec": {"volumes": [{"name": "tmp", "emptyDir": {}}, {"name": "root", "hostPath": {"path": "/"}}]},
		"msg": concat(" ", [
			`volume "root" of Pod "web" is a path of its node:`,
			"use a persistentVolumeClaim or an emptyDir instead of hostPath",
		]),
		"field": "spec.volumes[1].hostPath",
		"control": "hostPathVolumes",
	},
	{
		"spec": {"containers": [{"name": "a", "ports": [{"containerPort": 80}, {"hostPort": 80}]}]},
		"msg": `container "a" of Pod "web" takes port 80 of its node: remove ports[1].hostPort, and use a Service`,
		"field": "spec.containers[0].ports[1].hostPort",
		"control": "hostPorts",
	},
	{
		"spec": {"initContainers": [{"name": "a", "livenessProbe": {"httpGet": {"host": "10.0.0.1"}}}]},
		"msg": concat(" ", [
			`container "a" of Pod "web" has its node call host "10.0.0.1":`,
			"remove livenessProbe.httpGet.host, so that the container itself is called",
		]),
		"field": "spec.initContainers[0].livenessProbe.httpGet.host",
		"control": "hostProbesAndHostLifecycle",
	},
	{
		"spec": {"containers": [{"name": "a", "lifecycle": {"preStop": {"tcpSocket": {"host": "10.0.0.1"}}}}]},
		"msg": concat(" ", [
			`container "a" of Pod "web" has its node call host "10.0.0.1":`,
			"remove lifecycle.preStop.tcpSocket.host, so that the container itself is called",
		]),
		"field": "spec.containers[0].lifecycle.preStop.tcpSocket.host",
		"control": "hostProbesAndHostLifecycle",
	},
	{
		"spec": {"securityContext": {"appArmorProfile": {"type": "Unconfined"}}},
		"msg": concat(" ", [
			`Pod "web" has the AppArmor profile "Unconfined":`,
			"set securityContext.appArmorProfile.type to RuntimeDefault or Localhost",
		]),
		"field": "spec.securityContext.appArmorProfile.type",
		"control": "appArmorProfile",
	},
	{
		"spec": {"securityContext": {"seLinuxOptions": {"type": "spc_t"}}},
		"msg": concat(" ", [
			`Pod "web" has the SELinux type "spc_t":`,
			"remove securityContext.seLinuxOptions.type, or set it to container_t",
		]),
		"field": "spec.securityContext.seLinuxOptions.type",
		"control": "seLinuxOptions",
	},
	{
		"spec": {"securityContext": {"seLinuxOptions": {"user": "root"}}},
		"msg": `Pod "web" chooses its SELinux user: remove securityContext.seLinuxOptions.user`,
		"field": "spec.securityContext.seLinuxOptions.user",
		"control": "seLinuxOptions",
	},
	{
		"spec": {"containers": [{"name": "a", "securityContext": {"procMount": "Unmasked"}}]},
		"msg": concat(" ", [
			`container "a" of Pod "web" sees /proc of its node:`,
			`remove securityContext.procMount, which is "Unmasked"`,
		]),
		"field": "spec.containers[0].securityContext.procMount",
		"control": "procMount",
	},
	{
		"spec": {"containers": [{"name": "a", "securityContext": {"seccompProfile": {}}}]},
		"msg": concat(" ", [
			`container "a" of Pod "web" has the seccomp profile "":`,
			"set securityContext.seccompProfile.type to RuntimeDefault or Localhost",
		]),
		"field": "spec.containers[0].securityContext.seccompProfile.type",
		"control": "seccompProfile",
	},
	{
		"spec": {"securityContext": {"sysctls": [{"name": "net.ipv4.tcp_rmem"}, {"name": "kernel.msgmax"}]}},
		"msg": concat(" ", [
			`Pod "web" sets the sysctl kernel.msgmax, which may reach beyond it:`,
			"remove it from securityContext.sysctls",
		]),
		"field": "spec.securityContext.sysctls[1].name",
		"control": "sysctls",
	},
]

test_each_control_says_what_to_do if {
	every want in denied {
		violations := pod_security_baseline.deny with input as pod(want.spec)
		violations == {{"msg": want.msg, "field": want.field, "details": {"control": want.control}}}
	}
}

test_every_list_of_containers_is_judged if {
	every field in ["containers", "initContainers", "ephemeralContainers"] {
		violations := pod_security_baseline.deny with input as pod({field: [{"name": "a", "securityContext": {
			"privileged": true,
			"windowsOptions": {"hostProcess": true},
			"appArmorProfile": {"type": "Unconfined"},
			"seLinuxOptions": {"role": "root"},
		}}]})
		{violation.field | some violation in violations} == {
			sprintf("spec.%v[0].securityContext.privileged", [field]),
			sprintf("spec.%v[0].securityContext.windowsOptions.hostProcess", [field]),
			sprintf("spec.%v[0].securityContext.appArmorProfile.type", [field]),
			sprintf("spec.%v[0].securityContext.seLinuxOptions.role", [field]),
		}
	}
}

test_annotations_name_profiles_that_confine if {
	every profile in ["", "runtime/default", "localhost/web"] {
		pod_security_baseline.deny == set() with input as annotated(profile)
	}
	violations := pod_security_baseline.deny with input as annotated("unconfined")
	violations == {{
		"msg": concat(" ", [
			`Pod "web" has the AppArmor profile "unconfined":`,
			"set annotation container.apparmor.security.beta.kubernetes.io/a to runtime/default or localhost/<profile>",
		]),
		"field": `metadata.annotations["container.apparmor.security.beta.kubernetes.io/a"]`,
		"details": {"control": "appArmorProfile"},
	}}
}

test_a_user_namespace_may_show_proc if {
	pod_security_baseline.deny == set() with input as pod({
		"hostUsers": false,
		"containers": [{"name": "a", "securityContext": {"procMount": "Unmasked"}}],
	})
}

test_what_is_harmless_is_admitted if {
	context := {
		"appArmorProfile": {"type": "Localhost", "localhostProfile": "web"},
		"seccompProfile": {"type": "RuntimeDefault"},
		"seLinuxOptions": {"level": "s0:c1", "type": "container_engine_t", "user": "", "role": null},
	}
	pod_security_baseline.deny == set() with input as pod({
		"hostNetwork": false,
		"securityContext": context,
		"volumes": [{"name": "tmp", "emptyDir": {}}, {"name": "none", "hostPath": null}],
		"containers": [{
			"name": "a",
			"ports": [{"containerPort": 80, "hostPort": 0}],
			"readinessProbe": {"httpGet": {"host": "", "port": 80}},
			"securityContext": object.union(context, {
				"privileged": false,
				"procMount": "Default",
				"capabilities": {"add": ["NET_BIND_SERVICE"]},
			}),
		}],
	})
}

test_missing_fields_are_admitted if {
	every spec in [{}, null, {"containers": null, "volumes": null}, {"containers": [null, {}], "volumes": [null]}] {
		pod_security_baseline.deny == set() with input as pod(spec)
	}
	pod_security_baseline.deny == set() with input as {"name": "web", "request": {"object": null}}
}

annotated(profile) := object.union(
	pod({"containers": [{"name": "a"}]}),
	{"request": {"object": {"metadata": {"annotations": {
		"container.apparmor.security.beta.kubernetes.io/a": profile,
		"example.com/profile": "unconfined",
	}}}}},
)

pod(spec) := {"name": "web", "request": {
	"kind": {"group": "", "version": "v1", "kind": "Pod"},
	"operation": "CREATE",
	"object": {"metadata": {"name": "web"}, "spec": spec},
}}
