# METADATA
# title: HTTP endpoints that servers can call
# description: What NodeClassifiers and ReportProcessors have in common.
package openvox.endpoint

import rego.v1

# Without user, query and fragment: a path follows, and credentials have fields of their own.
url(text) if regex.match(`^https?://(?:[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(?::[0-9]{1,5})?(?:/[^\s?#@\\]*)?$`, text)

header_name(name) if regex.match("^[A-Za-z0-9!#$%&'*+.^_`|~-]+$", name)

# Requests have these of their own.
owned := {
	"host", "content-length", "transfer-encoding", "connection", "trailer", "upgrade", "te",
	"keep-alive", "proxy-connection",
}

one_line(value) if not regex.match(`[\x00-\x08\x0a-\x1f\x7f]`, value)

denials(spec) := {denial | some denial in array.concat(auths(spec), timeouts(spec))}

url_form := "it is http or https with a host, such as https://host.example.com:8443/path, and has no user, fragment or spaces in it; credentials go into spec.auth"

timeouts(spec) := [{"msg": msg, "field": "spec.timeoutSeconds"} |
	spec.timeoutSeconds <= 0
	msg := sprintf("spec.timeoutSeconds: %v is not above 0", [spec.timeoutSeconds])
]

auths(spec) := array.concat(
	[{"msg": msg, "field": "spec.auth"} |
		given := methods(spec)
		count(given) > 1
		msg := sprintf("spec.auth: %s are set; set at most one", [concat(", ", given)])
	],
	[{"msg": msg, "field": "spec.auth.token.header"} |
		name := spec.auth.token.header
		problem := header_problem(name)
		msg := sprintf("spec.auth.token.header: %s", [problem])
	],
)

methods(spec) := [name |
	some name in ["basic", "bearer", "mtls", "token"]
	spec.auth[name]
]

header_problem(name) := sprintf("%q is not a name of a header", [name]) if not header_name(name)

header_problem(name) := sprintf("the header %s is not to be set: each request has its own", [name]) if lower(name) in owned

# A third party on the network can read them.
plain_credentials(spec) if {
	startswith(spec.url, "http://")
	some name in ["basic", "bearer", "token"]
	spec.auth[name]
}

warnings(spec) := array.concat(
	["spec.url is http, by which credentials are sent as plain text: a third party on the network can read them; use https" | plain_credentials(spec)],
	["spec.auth.mtls has no effect, for spec.url is http; use https" | startswith(spec.url, "http://"); spec.auth.mtls],
)
