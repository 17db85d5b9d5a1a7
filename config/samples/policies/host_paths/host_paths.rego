# METADATA
# title: Allowed host paths
# description: >-
#   A hostPath volume is a hole in the wall between a Pod and its node, so it leads
#   to few places only. Symbolic links on the node are followed, where a policy
#   cannot see: allow no path that Pods can write to.
#   Parameters: allowedHostPaths, a list of {prefix, readOnly}: the path and all
#   below it; with readOnly, every container mounts it so. The resize subresource
#   is not asked about: it changes resources only.
# custom:
#   match:
#     kinds: [{group: "", kind: Pod}]
#     operations: [CREATE, UPDATE]
#     subresources: [ephemeralcontainers]
#     expand: warn
package samples.host_paths

import rego.v1

import data.samples.pods

# METADATA
# title: Host paths are below an allowed one
deny contains violation if {
	some i, volume in pods.spec.volumes
	is_object(volume.hostPath)
	path := path_of(volume)
	count(permits(path)) == 0
	violation := {
		"msg": sprintf(
			"volume %q of Pod %q is the host path %q: use one of %v, without .. in it",
			[pods.name(volume), input.name, path, concat(", ", [entry.prefix | some entry in allowed])],
		),
		"field": sprintf("spec.volumes[%d].hostPath.path", [i]),
	}
}

# METADATA
# title: Host paths are mounted read-only
deny contains violation if {
	some volume in pods.spec.volumes
	is_object(volume.hostPath)
	path := path_of(volume)
	is_read_only(path)
	some field, container in pods.containers
	some i, mount in container.volumeMounts
	mount.name == volume.name
	not mount.readOnly == true
	violation := {
		"msg": sprintf(
			"%v can write to the host path %q: set volumeMounts[%d].readOnly to true",
			[pods.words(container), path, i],
		),
		"field": sprintf("%v.volumeMounts[%d].readOnly", [field, i]),
	}
}

default allowed := [{"prefix": "/etc/ssl/certs", "readOnly": true}]

allowed := input.parameters.allowedHostPaths

# What permits a path also permits to write to it, unless each entry says no.
is_read_only(path) if {
	entries := permits(path)
	count(entries) > 0
	every entry in entries {
		entry.readOnly == true
	}
}

permits(path) := {entry |
	startswith(path, "/")
	steps := steps_of(path)
	not ".." in steps
	some entry in allowed
	prefix := steps_of(entry.prefix)
	array.slice(steps, 0, count(prefix)) == prefix
}

# Compared step by step: /var/log must not admit /var/logs, and neither // nor /.
# may hide a step.
steps_of(path) := [step | some step in split(path, "/"); not step in {"", "."}]

path_of(volume) := volume.hostPath.path if {
	is_string(volume.hostPath.path)
} else := ""
