package samples.host_paths_test

import rego.v1

import data.samples.host_paths

test_the_default_admits_certificates if {
	every path in ["/etc/ssl/certs", "/etc/ssl/certs/", "/etc//ssl/./certs/ca.pem"] {
		host_paths.deny == set() with input as mounting(path, true, {})
	}
}

test_the_default_denies_everything_else if {
	every path in [
		"/",
		"",
		"//",
		"/etc/ssl",
		"/etc/ssl/certs-of-others",
		"/etc/ssl/certs/../private",
		"/etc/ssl/certs/..",
		"/../etc/ssl/certs",
		"etc/ssl/certs",
		"/mnt/etc/ssl/certs",
		`C:\etc\ssl\certs`,
	] {
		violations := host_paths.deny with input as mounting(path, true, {})
		{violation.field | some violation in violations} == {"spec.volumes[0].hostPath.path"}
	}
}

test_the_message_says_what_to_use if {
	violations := host_paths.deny with input as mounting("/var/run/docker.sock", true, {})
	violations == {{
		"msg": concat(" ", [
			`volume "host" of Pod "web" is the host path "/var/run/docker.sock":`,
			"use one of /etc/ssl/certs, without .. in it",
		]),
		"field": "spec.volumes[0].hostPath.path",
	}}
}

test_read_only_is_required_of_every_mount if {
	violations := host_paths.deny with input as pod({
		"volumes": [{"name": "host", "hostPath": {"path": "/etc/ssl/certs"}}, {"name": "tmp", "emptyDir": {}}],
		"containers": [{"name": "a", "volumeMounts": [
			{"name": "tmp", "mountPath": "/tmp"},
			{"name": "host", "mountPath": "/certs"},
		]}],
		"initContainers": [{"name": "b", "volumeMounts": [{"name": "host", "readOnly": true}]}],
		"ephemeralContainers": [{"name": "c", "volumeMounts": [{"name": "host", "readOnly": false}]}],
	})
	violations == {
		{
			"msg": concat(" ", [
				`container "a" of Pod "web" can write to the host path "/etc/ssl/certs":`,
				"set volumeMounts[1].readOnly to true",
			]),
			"field": "spec.containers[0].volumeMounts[1].readOnly",
		},
		{
			"msg": concat(" ", [
				`container "c" of Pod "web" can write to the host path "/etc/ssl/certs":`,
				"set volumeMounts[0].readOnly to true",
			]),
			"field": "spec.ephemeralContainers[0].volumeMounts[0].readOnly",
		},
	}
}

test_parameters_replace_the_default if {
	parameters := {"allowedHostPaths": [
		{"prefix": "/var/log/", "readOnly": true},
		{"prefix": "/var/log/shop"},
	]}
	every path in ["/var/log/shop", "/var/log/shop/web"] {
		host_paths.deny == set() with input as mounting(path, false, parameters)
	}
	every path in ["/var/log", "/var/log/shops"] {
		host_paths.deny == set() with input as mounting(path, true, parameters)
		count(host_paths.deny) == 1 with input as mounting(path, false, parameters)
	}
	count(host_paths.deny) == 1 with input as mounting("/etc/ssl/certs", true, parameters)
}

test_an_empty_list_admits_none_and_a_slash_all if {
	count(host_paths.deny) == 1 with input as mounting("/etc/ssl/certs", true, {"allowedHostPaths": []})
	host_paths.deny == set() with input as mounting("/etc", false, {"allowedHostPaths": [{"prefix": "/"}]})
}

test_missing_fields_are_admitted if {
	every spec in [{}, null, {"volumes": null}, {"volumes": [null, {"name": "none", "hostPath": null}]}] {
		host_paths.deny == set() with input as pod(spec)
	}
	host_paths.deny == set() with input as {"name": "web", "request": {"object": null}}
}

test_a_host_path_without_path_is_denied if {
	count(host_paths.deny) == 1 with input as pod({"volumes": [{"name": "none", "hostPath": {}}]})
}

mounting(path, read_only, parameters) := object.union(
	pod({
		"volumes": [{"name": "host", "hostPath": {"path": path}}],
		"containers": [{"name": "a", "volumeMounts": [{"name": "host", "readOnly": read_only}]}],
	}),
	{"parameters": parameters},
)

pod(spec) := {"name": "web", "parameters": {}, "request": {
	"kind": {"group": "", "version": "v1", "kind": "Pod"},
	"operation": "CREATE",
	"object": {"metadata": {"name": "web"}, "spec": spec},
}}
