package openvox.nodeclassifier_test

import rego.v1

import data.openvox.nodeclassifier

fields(denials) := {d.field | some d in denials}

created(spec) := {"request": {"operation": "CREATE", "object": {"spec": spec}}}

foreman := {"url": "https://foreman.example.com", "request": {"path": "/node/{certname}?format=yml"}, "auth": {"mtls": true}, "cache": {"enabled": true, "directory": "/var/cache/openvox-enc"}, "timeoutSeconds": 10}

enterprise := {
	"url": "https://pe.example.com:4433", "response": {"format": "json"},
	"request": {"method": "POST", "path": "/classifier-api/v1/classified/nodes/{certname}", "body": "puppet-enterprise"},
	"auth": {"token": {"header": "X-Authentication", "secretKeyRef": {"name": "a", "key": "b"}}},
}

test_good if {
	every spec in [foreman, enterprise, {"url": "http://[2001:db8::1]:8080/enc"}] {
		count(nodeclassifier.deny) == 0 with input as created(spec)
		count(nodeclassifier.warn) == 0 with input as created(spec)
	}
}

test_urls if {
	every url in ["foreman.example.com", "ftp://a", "https://", "https://ann:pw@a", "https://a?b=c", "https://a#b", "https://a/ b", "https://a/\nb", `https://a\b`] {
		fields(nodeclassifier.deny) == {"spec.url"} with input as created({"url": url})
	}
	some denial in nodeclassifier.deny with input as created({"url": "https://ann:hunter2@a"})
	not contains(denial.msg, "hunter2")
}

test_requests if {
	every path in ["node/{certname}", "", "/a b/{certname}", "/a\r\nb/{certname}", "/{certname}#x"] {
		fields(nodeclassifier.deny) == {"spec.request.path"} with input as created(object.union(foreman, {"request": {"path": path}}))
	}
	every path in ["/node/{name}", "/node/{certname", "/{certname}/{x}"] {
		fields(nodeclassifier.deny) == {"spec.request.path"} with input as created(object.union(foreman, {"request": {"path": path}}))
	}
	fields(nodeclassifier.deny) == {"spec.request.body"} with input as created(object.union(foreman, {"request": {"body": "facts"}}))
	fields(nodeclassifier.deny) == {"spec.timeoutSeconds"} with input as created(object.union(foreman, {"timeoutSeconds": 0}))
	every directory in ["cache", "/", "/a/../b", "/a b", "//a"] {
		fields(nodeclassifier.deny) == {"spec.cache.directory"} with input as created(object.union(foreman, {"cache": {"directory": directory}}))
	}
}

test_credentials if {
	nodeclassifier.deny == {{"field": "spec.auth", "msg": "spec.auth: bearer, mtls are set; set at most one"}} with input as created(object.union(foreman, {"auth": {"mtls": true, "bearer": {}}}))
	every header in ["a b", "", "a\r\nb", "Host", "content-length"] {
		fields(nodeclassifier.deny) == {"spec.auth.token.header"} with input as created(object.union(enterprise, {"auth": {"token": {"header": header}}}))
	}
}

test_warnings if {
	plain := {"url": "http://a", "auth": {"basic": {"secretRef": {"name": "x"}}}}
	nodeclassifier.warn == {"spec.url is http, by which credentials are sent as plain text: a third party on the network can read them; use https"} with input as created(plain)
	nodeclassifier.warn == {"spec.auth.mtls has no effect, for spec.url is http; use https"} with input as created({"url": "http://a", "auth": {"mtls": true}})
	nodeclassifier.warn == {"spec.request has the certname neither in path nor in body: all nodes are classified alike"} with input as created({"url": "https://a", "request": {"path": "/all"}})
	count(nodeclassifier.warn) == 0 with input as created({"url": "https://a", "request": {"path": "/all", "method": "POST", "body": "certname"}})
	count(nodeclassifier.warn) == 2 with input as created(object.union(enterprise, {"request": {"body": "facts"}, "response": {"format": "yaml"}}))
	count(nodeclassifier.deny) == 0 with input as created(plain)
}

test_folders_of_the_image if {
	every directory in ["/usr", "/usr/local/bin", "/etc/puppetlabs/puppet/ssl/certs", "/opt/puppetlabs", "/tmp/", "/var", "/run/puppetserver", "/var/log/puppetlabs", "/var/spool/openvox-report"] {
		fields(nodeclassifier.deny) == {"spec.cache.directory"} with input as created(object.union(foreman, {"cache": {"directory": directory}}))
	}
	every directory in ["/var/cache/openvox-enc", "/var/cache/openvox-enc/", "/var/lib/enc", "/cache", "/run/enc"] {
		count(nodeclassifier.deny) == 0 with input as created(object.union(foreman, {"cache": {"directory": directory}}))
	}
}
