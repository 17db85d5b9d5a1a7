# METADATA
# title: Allowed registries
# description: >-
#   Images come from known places only.
#   Parameters: allowedRegistries, a list of registries (registry.example.com),
#   of paths below one (registry.example.com:5000/team) or of repositories
#   (docker.io/library/nginx), each written in full: nginx is
#   docker.io/library/nginx.
# custom:
#   match:
#     kinds: [{group: "", kind: Pod}]
#     operations: [CREATE, UPDATE]
#     subresources: [ephemeralcontainers]
#     expand: warn
package samples.allowed_registries

import rego.v1

# METADATA
# title: Containers run images of allowed registries
deny contains violation if {
	some field in ["containers", "initContainers", "ephemeralContainers"]
	some i, container in input.request.object.spec[field]
	image := string_at(container, "image")
	not is_allowed(image)
	violation := {
		"msg": sprintf(
			"image %q of container %q is not from an allowed registry: use one of %v",
			[image, string_at(container, "name"), concat(", ", allowed)],
		),
		"field": sprintf("spec.%v[%d].image", [field, i]),
	}
}

# METADATA
# title: Volumes mount images of allowed registries
deny contains violation if {
	some i, volume in input.request.object.spec.volumes
	volume.image
	image := string_at(volume.image, "reference")
	not is_allowed(image)
	violation := {
		"msg": sprintf(
			"image %q of volume %q is not from an allowed registry: use one of %v",
			[image, string_at(volume, "name"), concat(", ", allowed)],
		),
		"field": sprintf("spec.volumes[%d].image.reference", [i]),
	}
}

default allowed := ["docker.io/library", "registry.k8s.io"]

allowed := input.parameters.allowedRegistries

is_allowed(image) if {
	image != ""
	name := repository(image)
	some prefix in prefixes
	startswith(name, prefix)
}

# Compared at a slash: registry.example.com must not admit
# registry.example.com.evil.io.
prefixes contains concat("", [trim_right(prefix, "/"), "/"]) if some prefix in allowed

# The image without tag and digest, with the registry and the path that Docker
# lets people leave out, and a slash behind it.
repository(image) := in_full(untagged, split(untagged, "/")) if {
	# A colon is a tag's only after the last slash; before it is a port's.
	untagged := regex.replace(image, `(?s)(:[^/@]*)?(@.*)?$`, "")
}

in_full(name, segments) := concat("", [host, trim_prefix(name, segments[0]), "/"]) if {
	has_host(segments)
	host := lower(segments[0])
	not host in {"docker.io", "index.docker.io"}
} else := concat("/", ["docker.io", on_docker_hub(path_of(segments)), ""])

on_docker_hub(path) := concat("/", ["library", path[0]]) if {
	count(path) == 1
} else := concat("/", path)

path_of(segments) := array.slice(segments, 1, count(segments)) if {
	has_host(segments)
} else := segments

has_host(segments) if {
	segments[1]
	is_host(segments[0])
}

# What comes before the first slash is a registry if it could be a host and
# could not be a Docker Hub account.
is_host(segment) if contains(segment, ".")

is_host(segment) if contains(segment, ":")

is_host(segment) if segment == "localhost"

is_host(segment) if lower(segment) != segment

string_at(parent, key) := parent[key] if {
	is_string(parent[key])
} else := ""
