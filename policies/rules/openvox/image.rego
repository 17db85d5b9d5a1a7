# Images of containers, which Configs and Servers name in two parts.
package openvox.image

import rego.v1

# The errors in the parts of an image: their names and messages that begin with them.
problems(image) := repository(image) | tag(image)

repository(image) := {{"field": "repository", "msg": msg} |
	name := object.get(image, "repository", "")
	name != ""
	not regex.match(`^[a-z0-9]+(?:[._-]+[a-z0-9]+)*(?::[0-9]{1,5})?(?:/[a-z0-9]+(?:[._-]+[a-z0-9]+)*)*(?:@sha256:[0-9a-f]{64})?$`, name)
	msg := sprintf("repository: %q is not a repository such as example.com/puppet/server, with @sha256:<digest> where one is meant; the tag has a field of its own", [name])
}

tag(image) := {{"field": "tag", "msg": msg} |
	name := object.get(image, "tag", "")
	name != ""
	not regex.match(`^[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}$`, name)
	msg := sprintf("tag: %q is not a tag; it has at most 128 of A-Z, a-z, 0-9, _, . and -, and begins with none of the last two", [name])
}
