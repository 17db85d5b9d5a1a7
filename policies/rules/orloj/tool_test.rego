package orloj.tool_test

import rego.v1

import data.orloj.tool

fields(spec) := {d.field | some d in denials} if {
	denials := tool.deny with input as {"request": {"object": {"spec": spec}}}
}

cli := {"type": "cli", "cli": {"command": "c", "image": "i"}}

test_good_tools if {
	fields({}) == set()
	fields(cli) == set()
	fields({"type": "CLI", "cli": {"command": "c"}, "runtime": {"isolation_mode": "none"}}) == set()
	fields({"type": "mcp", "mcp_server_ref": "s", "mcp_tool_name": "t"}) == set()
	fields({"type": "wasm", "wasm": {"module": "m", "enable_wasi": false}}) == set()
	fields({"auth": {"profile": "api_key_header", "secretRef": "s", "headerName": "h"}}) == set()
	fields({"operation_classes": ["Read", ""]}) == set()
}

test_what_is_unknown if {
	fields({"type": "fax"}) == {"spec.type"}
	fields({"operation_classes": ["eat"]}) == {"spec.operation_classes[0]"}
	fields({"runtime": {"timeout": "x"}}) == {"spec.runtime.timeout"}
}

test_what_is_needed if {
	fields({"type": "mcp"}) == {"spec.mcp_server_ref", "spec.mcp_tool_name"}
	fields({"type": "cli", "cli": {"command": "c"}}) == {"spec.cli.image"}
	fields({"cli": {"image_pull_secret": "s"}}) == {"spec.cli.image"}
	fields({"cli": {"env_from": [{}]}}) == {"spec.cli.env_from[0].name", "spec.cli.env_from[0].secretRef"}
	fields({"wasm": {"module": "m"}}) == {"spec.wasm.enable_wasi"}
}

test_auth if {
	fields(object.union(cli, {"auth": {"secretRef": "s"}})) == {"spec.auth"}
	fields({"auth": {"profile": "basic"}}) == {"spec.auth.secretRef"}
	fields({"auth": {"profile": "api_key_header", "secretRef": "s"}}) == {"spec.auth.headerName"}
	fields({"auth": {"profile": "oauth2_client_credentials", "secretRef": "s"}}) == {"spec.auth.tokenURL"}
}

defaulted(spec) := found if {
	found := tool.defaults.spec with input as {"request": {"object": {"spec": spec}}}
}

patched(spec) := found if {
	found := tool.patch with input as {"request": {"object": {"spec": spec}}}
}

test_defaults if {
	defaulted({}).operation_classes == ["read"]
	defaulted({}).runtime.isolation_mode == "none"
	defaulted({"risk_level": "Critical"}).operation_classes == ["write"]
	defaulted({"risk_level": "high"}).runtime.isolation_mode == "sandboxed"
	defaulted(cli).runtime.isolation_mode == "container"
	defaulted(cli).cli == {"output": "stdout", "network": "bridge"}
	defaulted({"auth": {"secretRef": "s"}}).auth == {"profile": "bearer"}
	defaulted({"type": "wasm", "wasm": {"module": "m"}}).wasm.entrypoint == "run"
	patched({}) == set()
	{op.path | some op in patched({"operation_classes": []})} == {"/spec/operation_classes"}
	{op.path | some op in patched({"operation_classes": [" "], "type": " "})} == {"/spec/operation_classes", "/spec/type"}
	{op.path | some op in patched({"runtime": {"retry": {"max_attempts": 0}}})} == {"/spec/runtime/retry/max_attempts"}
	{op.path | some op in patched({"type": "wasm", "wasm": {"fuel": 0}})} == {"/spec/wasm/fuel"}
}
