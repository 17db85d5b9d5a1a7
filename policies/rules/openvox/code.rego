# METADATA
# title: Where Puppet code comes from
# description: Checks what a CustomResourceDefinition cannot, because spec.code is a list or an object.
package openvox.code

import rego.v1

root := "/etc/puppetlabs/code"

keys := {"claimName", "environment", "image", "imagePullPolicy", "imagePullSecret", "mountPath"}

# The errors in spec.code. environments is the folder of environments: "" if it is not known.
problems(spec, environments) := ((({{"msg": msg, "field": "spec.code"} |
	code := spec.code
	not type_name(code) in {"array", "object", "null"}
	msg := "spec.code: Invalid value: must be a list of sources, such as [{image: registry.example/code:1}], or one source"
} | {{"msg": msg, "field": "spec.code"} |
	is_array(spec.code)
	count(spec.code) > most
	msg := sprintf("spec.code: Too many: %d: must have at most %d items", [count(spec.code), most])
}) | {problem |
	some [field, source] in sources(spec)
	some problem in source_problems(field, source)
}) | {{"msg": msg, "field": field} |
	is_array(spec.code)
	count(spec.code) > 1
	some [field, source] in sources(spec)
	is_object(source)
	not target(source)
	msg := sprintf("%s: Required value: environment or mountPath, since spec.code has several items", [field])
}) | {{"msg": msg, "field": second} |
	all := placed(spec, environments)
	some i, [first, path] in all
	some j, [second, other] in all
	i < j
	overlap(path, other)
	msg := sprintf("%s: %s overlaps %s of %s; use another folder", [second, other, path, first])
}

most := 32

sources(spec) := [["spec.code", spec.code]] if is_object(spec.code)

sources(spec) := [[field, source] |
	some i, source in spec.code
	field := sprintf("spec.code[%d]", [i])
] if is_array(spec.code)

sources(spec) := [] if not given(spec)

given(spec) if is_object(spec.code)

given(spec) if is_array(spec.code)

target(source) if set_to(source, "environment")

target(source) if set_to(source, "mountPath")

# Stored objects may have empty strings, which are the same as fields that are not set.
optional := {"environment", "imagePullPolicy", "imagePullSecret", "mountPath"}

set_to(source, key) if source[key] != ""

# Where the sources are, by their fields.
placed(spec, environments) := [[field, path] |
	some [field, source] in sources(spec)
	is_object(source)
	path := place(source, environments)
]

place(source, environments) := source.mountPath if {
	is_string(source.mountPath)
	set_to(source, "mountPath")
} else := sprintf("%s/%s", [environments, source.environment]) if {
	is_string(source.environment)
	set_to(source, "environment")
}

overlap(a, b) if a == b

overlap(a, b) if startswith(a, sprintf("%s/", [b]))

overlap(a, b) if startswith(b, sprintf("%s/", [a]))

source_problems(field, source) := (((((({{"msg": msg, "field": field} |
	not is_object(source)
	msg := sprintf("%s: Invalid value: must be an object with image or claimName", [field])
} | {{"msg": msg, "field": path} |
	is_object(source)
	some key, _ in source
	not key in keys
	path := sprintf("%s.%s", [field, key])
	msg := sprintf("%s: unknown field; supported fields: %s", [path, concat(", ", sort(keys))])
}) | {{"msg": msg, "field": path} |
	is_object(source)
	some key, value in source
	key in keys
	not text(key, value)
	path := sprintf("%s.%s", [field, key])
	msg := sprintf("%s: Invalid value: must be a string of 1 to 1024 characters", [path])
}) | {{"msg": msg, "field": field} |
	is_object(source)
	count({"image", "claimName"} & object.keys(source)) != 1
	msg := sprintf("%s: set exactly one of image and claimName", [field])
}) | {{"msg": msg, "field": field} |
	is_object(source)
	set_to(source, "environment")
	set_to(source, "mountPath")
	msg := sprintf("%s: set at most one of environment and mountPath", [field])
}) | {{"msg": msg, "field": path} |
	policy := source.imagePullPolicy
	policy != ""
	not policy in {"Always", "IfNotPresent", "Never"}
	path := sprintf("%s.imagePullPolicy", [field])
	msg := sprintf("%s: Unsupported value %v: supported values: Always, IfNotPresent, Never", [path, policy])
}) | {{"msg": msg, "field": path} |
	name := source.environment
	is_string(name)
	name != ""
	not regex.match(`^[A-Za-z0-9_]+$`, name)
	path := sprintf("%s.environment", [field])
	msg := sprintf("%s: Invalid value %q: must consist of A-Z, a-z, 0-9 and _, as names of environments do", [path, name])
}) | {{"msg": msg, "field": path} |
	folder := source.mountPath
	is_string(folder)
	folder != ""
	not below(folder)
	path := sprintf("%s.mountPath", [field])
	msg := sprintf("%s: Invalid value %q: must be an absolute path below %s, such as %s/modules", [path, folder, root, root])
}

text(_, value) if {
	is_string(value)
	count(value) > 0
	count(value) <= 1024
}

text(key, "") if key in optional

# A stored object can still be edited.
unchanged if input.request.oldObject.spec.code == input.request.object.spec.code

below(folder) if {
	regex.match(`^/etc/puppetlabs/code(?:/[^/:\x00-\x1f]+)+$`, folder)
	not regex.match(`/\.{1,2}(?:/|$)`, folder)
}
