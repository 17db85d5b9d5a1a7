# METADATA
# title: Tools are what orlojd takes
# custom:
#   match:
#     kinds: [{group: orloj.dev, version: v1, kind: Tool}]
#     operations: [CREATE, UPDATE]
#   timeout: 1s
package orloj.tool

import rego.v1

import data.orloj.values

spec := object.get(input.request.object, "spec", {})

enums := {
	["type"]: {"http", "external", "grpc", "webhook-callback", "queue", "mcp", "wasm", "cli", "a2a"},
	["risk_level"]: {"low", "medium", "high", "critical"},
	["runtime", "isolation_mode"]: {"none", "sandboxed", "container", "wasm", "kubernetes"},
	["runtime", "retry", "jitter"]: {"none", "full", "equal"},
	["auth", "profile"]: {"bearer", "api_key_header", "basic", "oauth2_client_credentials"},
	["cli", "output"]: {"stdout", "stderr", "both"},
}

type := values.chosen(spec, ["type"], "http")

risky if values.folded(spec.risk_level) in {"high", "critical"}

deny contains problem if some problem in values.unknown(spec, enums)

deny contains problem if {
	some problem in values.durations(spec, {["runtime", "timeout"], ["runtime", "retry", "backoff"], ["runtime", "retry", "max_backoff"]})
}

operation_classes := {"read", "write", "delete", "admin"}

deny contains {"field": field, "msg": msg} if {
	some i, class in spec.operation_classes
	trim_space(class) != ""
	not values.folded(class) in operation_classes
	field := sprintf("spec.operation_classes[%d]", [i])
	msg := sprintf("%s: %q is not one of %s", [field, class, concat(", ", sort(operation_classes))])
}

needs := {
	"mcp": {["mcp_server_ref"], ["mcp_tool_name"]},
	"cli": {["cli", "command"]},
	"wasm": {["wasm", "module"]},
	"a2a": {["a2a", "agent_url"]},
}

deny contains values.needed(concat(".", array.concat(["spec"], path)), sprintf(", since spec.type is %s", [type])) if {
	some path in needs[type]
	values.blank(spec, path)
}

deny contains values.needed("spec.cli.image", ", unless spec.runtime.isolation_mode is none") if {
	type == "cli"
	values.blank(spec, ["cli", "image"])
	values.folded(object.get(spec, ["runtime", "isolation_mode"], "")) != "none"
}

deny contains values.needed("spec.cli.image", ": spec.cli.image_pull_secret is used to pull it") if {
	not values.blank(spec, ["cli", "image_pull_secret"])
	values.blank(spec, ["cli", "image"])
}

deny contains values.needed(sprintf("spec.cli.env_from[%d].%s", [i, key]), "") if {
	some i, variable in spec.cli.env_from
	some key in ["name", "secretRef"]
	values.blank(variable, [key])
}

deny contains values.needed("spec.wasm.enable_wasi", ": true or false") if {
	spec.wasm
	not is_boolean(object.get(spec.wasm, "enable_wasi", null))
}

deny contains {"field": "spec.auth", "msg": "spec.auth: tools of type cli have none; use spec.cli.env_from"} if {
	type == "cli"
	some key in ["profile", "secretRef"]
	values.given(spec, ["auth", key])
}

profile := values.folded(values.given(spec, ["auth", "profile"]))

deny contains values.needed("spec.auth.secretRef", ", since spec.auth.profile is set") if {
	profile
	values.blank(spec, ["auth", "secretRef"])
}

deny contains values.needed("spec.auth.headerName", ", since spec.auth.profile is api_key_header") if {
	profile == "api_key_header"
	values.blank(spec, ["auth", "headerName"])
}

deny contains values.needed("spec.auth.tokenURL", ", since spec.auth.profile is oauth2_client_credentials") if {
	profile == "oauth2_client_credentials"
	values.blank(spec, ["auth", "tokenURL"])
}

defaults.spec.type := "http"

defaults.spec.risk_level := "low"

defaults.spec.operation_classes := ["write"] if risky

defaults.spec.operation_classes := ["read"] if not risky

patch contains op if some op in values.filled(spec, defaults.spec)

patch contains {"op": "replace", "path": "/spec/operation_classes", "value": defaults.spec.operation_classes} if {
	every class in spec.operation_classes { trim_space(class) == "" }
}

defaults.spec.runtime := {
	"timeout": "30s",
	"isolation_mode": isolation,
	"retry": {"max_attempts": 1, "backoff": "0s", "max_backoff": "30s", "jitter": "none"},
}

patch contains {"op": "replace", "path": "/spec/runtime/retry/max_attempts", "value": 1} if spec.runtime.retry.max_attempts <= 0

default isolation := "none"

isolation := "container" if type == "cli"

isolation := "sandboxed" if {
	type != "cli"
	risky
}

defaults.spec.auth := {"profile": "bearer"} if {
	type != "cli"
	values.given(spec, ["auth", "secretRef"])
}

defaults.spec.cli := {"output": "stdout", "network": "bridge"} if type == "cli"

wasm := {"entrypoint": "run", "max_memory_bytes": 67108864, "fuel": 1000000}

defaults.spec.wasm := wasm if {
	type == "wasm"
	spec.wasm
}

patch contains {"op": "replace", "path": sprintf("/spec/wasm/%s", [key]), "value": wasm[key]} if {
	type == "wasm"
	some key in ["max_memory_bytes", "fuel"]
	spec.wasm[key] <= 0
}
