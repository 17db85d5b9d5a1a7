# METADATA
# title: McpServers are what orlojd takes
# custom:
#   match:
#     kinds: [{group: orloj.dev, version: v1, kind: McpServer}]
#     operations: [CREATE, UPDATE]
#   timeout: 1s
package orloj.mcpserver

import rego.v1

import data.orloj.values

spec := object.get(input.request.object, "spec", {})

transport := values.folded(object.get(spec, "transport", ""))

deny contains values.needed("spec.transport", ": stdio or http") if transport == ""

deny contains problem if some problem in values.unknown(spec, {["transport"]: {"stdio", "http"}})

deny contains problem if {
	some problem in values.durations(spec, {["idle_timeout"], ["reconnect", "backoff"], ["default_tool_runtime", "timeout"]})
}

deny contains problem if {
	some problem in values.unknown(spec, {["default_tool_runtime", "isolation_mode"]: {"none", "sandboxed", "container", "wasm", "kubernetes"}})
}

deny contains values.needed("spec.command", " (or spec.image), since spec.transport is stdio") if {
	transport == "stdio"
	values.blank(spec, ["command"])
	values.blank(spec, ["image"])
}

deny contains values.needed("spec.endpoint", ", since spec.transport is http") if {
	transport == "http"
	values.blank(spec, ["endpoint"])
}

deny contains {"field": "spec.image", "msg": "spec.image: it is for spec.transport stdio alone"} if {
	transport == "http"
	not values.blank(spec, ["image"])
}

deny contains values.needed("spec.image", ": spec.image_pull_secret is used to pull it") if {
	not values.blank(spec, ["image_pull_secret"])
	values.blank(spec, ["image"])
}

deny contains values.needed(sprintf("spec.env[%d].name", [i]), "") if {
	some i, variable in spec.env
	values.blank(variable, ["name"])
}

deny contains {"field": field, "msg": sprintf("%s: %q does not start with /", [field, path])} if {
	some i, variable in spec.env
	path := values.given(variable, ["mountPath"])
	not startswith(path, "/")
	field := sprintf("spec.env[%d].mountPath", [i])
}

deny contains values.needed("spec.image", sprintf(": spec.env[%d].mountPath is a path in it", [i])) if {
	some i, variable in spec.env
	values.given(variable, ["mountPath"])
	values.blank(spec, ["image"])
}

defaults.spec.reconnect := {"max_attempts": 3, "backoff": "2s"}

defaults.spec.idle_timeout := "0"

patch contains op if some op in values.filled(spec, defaults.spec)

patch contains {"op": "replace", "path": "/spec/reconnect/max_attempts", "value": 3} if spec.reconnect.max_attempts <= 0
