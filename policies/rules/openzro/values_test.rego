package openzro.values_test

import rego.v1

import data.openzro.values

test_addresses if {
	every host in ["10.0.0.1", "0.0.0.0", "fd00::1", "::ffff:10.0.0.1"] { values.is_host(host) }
	every text in ["10.0.0.256", "010.0.0.1", "10.0.0", "fd00::g", "fd00::1%eth0", "10.0.0.1/32", "", "a"] {
		not values.is_host(text)
	}
	every subnet in ["10.0.0.0/24", "10.0.0.1/32", "0.0.0.0/0", "fd00::/8"] { values.is_subnet(subnet) }
	every text in ["10.0.0.0/08", "10.0.0.0/33", "10.0.0.0/-1", "10.0.0.0/", "10.0.0.0", "fd00::/129"] {
		not values.is_subnet(text)
	}
}

# The server's own rules: it rejects single labels.
test_domains if {
	every domain in ["example.com", "*.example.com", "a.b-c.Example.Co", "1.io"] { values.is_domain(domain) }
	every text in ["localhost", "example.c", "example.c1", "example.123", "*.com.", "a.*.com", "*example.com", "exa_mple.com", ".com", "a b.com"] {
		not values.is_domain(text)
	}
}

test_urls if {
	every url in ["https://a", "http://a:8080/x", "https://[::1]:1"] { values.is_url(url) }
	every text in ["a", "ftp://a", "https://", "https://u:p@a", "https://a?b", "https://a b"] { not values.is_url(text) }
}

test_dns_labels if {
	every label in ["web", "Web.eu", "a-b", "*.web", "_x.a"] { values.is_dns_label(label) }
	every text in ["", "-a", "a-", "a..b", "a b", "ü"] { not values.is_dns_label(text) }
	not values.is_dns_label(concat("", ["x" | some _ in numbers.range(1, 64)]))
}

test_names if {
	fields(values.names({"groups": ["a", "", "b", "a", " "]}, "groups")) == {"spec.groups[1]", "spec.groups[3]", "spec.groups[4]"}
	values.names({}, "groups") == set()
	values.names({"groups": null}, "groups") == set()
	fields(values.all_group({"groups": ["a", "All", "all"]}, "groups", "why")) == {"spec.groups[1]"}
}

test_ports if {
	fields(values.ports({"ports": [1, 65535, 0, 65536, 80, 80, -1]}, "ports")) == {"spec.ports[2]", "spec.ports[3]", "spec.ports[5]", "spec.ports[6]"}
	values.ports({"ports": [80, 80]}, "ports") == {{"field": "spec.ports[1]", "msg": "spec.ports[1]: 80 duplicates [0]; remove one of them"}}
}

test_taken if {
	values.taken("spec.name", "a") == set() with input as {"facts": {}}
	fields(values.taken("spec.name", "a")) == {"spec.name"} with input as {"facts": {"taken": {"kind": "OZGroup", "name": "b"}}}
}

fields(problems) := {p.field | some p in problems}
