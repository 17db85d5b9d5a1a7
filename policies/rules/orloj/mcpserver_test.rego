package orloj.mcpserver_test

import rego.v1

import data.orloj.mcpserver

fields(spec) := {d.field | some d in denials} if {
	denials := mcpserver.deny with input as {"request": {"object": {"spec": spec}}}
}

test_good_servers if {
	fields({"transport": "stdio", "command": "c"}) == set()
	fields({"transport": "stdio", "image": "i", "env": [{"name": "n", "mountPath": "/p"}]}) == set()
	fields({"transport": "HTTP", "endpoint": "e", "idle_timeout": "0"}) == set()
}

test_bad_servers if {
	fields({}) == {"spec.transport"}
	fields({"transport": "fax"}) == {"spec.transport"}
	fields({"transport": "stdio"}) == {"spec.command"}
	fields({"transport": "http"}) == {"spec.endpoint"}
	fields({"transport": "http", "endpoint": "e", "image": "i"}) == {"spec.image"}
	fields({"transport": "stdio", "command": "c", "image_pull_secret": "s"}) == {"spec.image"}
	fields({"transport": "stdio", "command": "c", "env": [{}]}) == {"spec.env[0].name"}
	fields({"transport": "stdio", "image": "i", "env": [{"name": "n", "mountPath": "p"}]}) == {"spec.env[0].mountPath"}
	fields({"transport": "stdio", "command": "c", "env": [{"name": "n", "mountPath": "/p"}]}) == {"spec.image"}
	fields({"transport": "stdio", "command": "c", "idle_timeout": "x"}) == {"spec.idle_timeout"}
	fields({"transport": "stdio", "command": "c", "default_tool_runtime": {"isolation_mode": "x"}}) == {"spec.default_tool_runtime.isolation_mode"}
}

test_defaults if {
	mcpserver.defaults == {"spec": {"reconnect": {"max_attempts": 3, "backoff": "2s"}, "idle_timeout": "0"}}
	count(mcpserver.patch) == 1 with input as {"request": {"object": {"spec": {"reconnect": {"max_attempts": 0}}}}}
	{op.path | some op in mcpserver.patch} == {"/spec/idle_timeout"} with input as {"request": {"object": {"spec": {"idle_timeout": " "}}}}
}
