package openvox.reportprocessor_test

import rego.v1

import data.openvox.reportprocessor

fields(denials) := {d.field | some d in denials}

created(more) := {"request": {"operation": "CREATE", "object": {"spec": object.union({"configRef": "none yet", "url": "https://reports.example.com/hook"}, more)}}}

secret := {"secretKeyRef": {"name": "a", "key": "b"}}

test_good if {
	every spec in [{}, {"url": "https://a.example.com/hook?code=x/y%20"}, {"processor": "puppetdb", "url": "https://puppetdb:8081", "auth": {"mtls": true}}, {"headers": [{"name": "X-A", "value": "a\tb"}, {"name": "X-B", "valueFrom": secret}]}] {
		count(reportprocessor.deny) == 0 with input as created(spec)
		count(reportprocessor.warn) == 0 with input as created(spec)
	}
}

test_urls if {
	every url in ["https://a?b c", "https://a?b#c", "https://ann:pw@a?b", "?a", "https://a?b\nc"] {
		fields(reportprocessor.deny) == {"spec.url"} with input as created({"url": url})
	}
	reportprocessor.deny == {{"field": "spec.url", "msg": "spec.url: must not have a query: the URL of a PuppetDB has only a scheme, a host and a port"}} with input as created({"processor": "puppetdb", "url": "https://a?b"})
}

test_bad if {
	fields(reportprocessor.deny) == {"spec.url", "spec.auth", "spec.timeoutSeconds"} with input as created({"url": "x", "timeoutSeconds": -1, "auth": {"bearer": secret, "basic": {}}})
	every name in ["", "X A", "X-A:", "X\nA", "Host", "Content-Length", "TRANSFER-ENCODING"] {
		fields(reportprocessor.deny) == {"spec.headers[0].name"} with input as created({"headers": [{"name": name, "value": "x"}]})
	}
	every value in ["a\nb", "a\r", "a\u0000", "\u007f"] {
		fields(reportprocessor.deny) == {"spec.headers[0].value"} with input as created({"headers": [{"name": "X-A", "value": value}]})
	}
	reportprocessor.deny == {{"field": "spec.headers[1].name", "msg": "spec.headers[1].name: spec.headers[0] is X-A already; leave one out"}} with input as created({"headers": [{"name": "X-A", "value": "a"}, {"name": "x-a", "value": "b"}]})
}

test_warnings if {
	reportprocessor.warn == {"spec.url is http, by which the Secret in spec.headers[0] is sent as plain text; use https"} with input as created({"url": "http://a", "headers": [{"name": "X-A", "valueFrom": secret}]})
	reportprocessor.warn == {"spec.url has /pdb/ in it, which is added for processor puppetdb; give the server alone"} with input as created({"processor": "puppetdb", "url": "https://a/pdb/cmd/v1"})
	count(reportprocessor.warn) == 1 with input as created({"url": "http://a", "auth": {"bearer": secret}})
}
