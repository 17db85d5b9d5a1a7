# METADATA
# title: Images
# description: Functions about references of images. This package decides nothing.
package library.shared.images

import rego.v1

import data.library.shared.objects
import data.library.shared.pods

# METADATA
# title: The images of a Pod by their paths, with those of image volumes
used[path] := objects.text(container, "image") if {
	some owner, container in pods.containers
	path := sprintf("%v.image", [owner])
}

used[path] := objects.text(volume.image, "reference") if {
	some i, volume in pods.spec.volumes
	is_object(volume.image)
	path := sprintf("spec.volumes[%d].image.reference", [i])
}

# METADATA
# title: Whether an image is pinned by a digest
has_digest(image) if regex.match(`@(sha256:[0-9a-f]{64}|sha512:[0-9a-f]{128})$`, image)

# METADATA
# title: The tag of an image, empty if it has none
# description: A colon before the last slash is that of a port.
tag(image) := parts[1] if {
	parts := split(last_part(without_digest(image)), ":")
	count(parts) == 2
} else := ""

last_part(name) := parts[count(parts) - 1] if parts := split(name, "/")

without_digest(image) := split(image, "@")[0]

# METADATA
# title: An image without tag and digest, with its registry
# description: nginx becomes docker.io/library/nginx, as container runtimes read it.
repository(image) := name if {
	has_registry(untagged(image))
	not on_docker_hub(untagged(image))
	parts := split(untagged(image), "/")
	name := concat("/", array.concat([lower(parts[0])], array.slice(parts, 1, count(parts))))
} else := sprintf("docker.io/%v", [hub_path(untagged(image))])

untagged(image) := regex.replace(without_digest(image), `:[^:/]*$`, "")

on_docker_hub(name) if lower(split(name, "/")[0]) in {"docker.io", "index.docker.io"}

hub_path(name) := path_on_hub(array.slice(split(name, "/"), 1, count(split(name, "/")))) if {
	on_docker_hub(name)
} else := path_on_hub(split(name, "/"))

path_on_hub(parts) := sprintf("library/%v", [parts[0]]) if {
	count(parts) == 1
} else := concat("/", parts)

# METADATA
# title: Whether an image names its registry
# description: >-
#   The part before the first slash is a registry if it has a dot, a port or a capital
#   letter, or is localhost.
has_registry(image) if {
	parts := split(image, "/")
	count(parts) > 1
	is_registry(parts[0])
}

is_registry(part) if regex.match(`[.:A-Z]`, part)

is_registry("localhost")
