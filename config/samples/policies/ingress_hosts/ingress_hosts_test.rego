package samples.ingress_hosts_test

import rego.v1

import data.samples.ingress_hosts

test_the_other_ingress_is_named if {
	violations := ingress_hosts.deny with input as create([rule("shop.example.com", ["/", "/cart/"])])
		with data.cluster as cluster([rule("shop.example.com", ["/cart"])])
	violations == {{
		"msg": concat(" ", [
			`host "shop.example.com" with path "/cart" is taken by Ingress legacy/old:`,
			"choose another host or path",
		]),
		"field": "spec.rules[0].host",
	}}
}

test_wildcards_overlap if {
	every pair in [
		["a.example.com", "*.example.com"],
		["*.example.com", "a.example.com"],
		["*.example.com", "*.example.com"],
		["A.example.com", "a.EXAMPLE.com"],
		["localhost", "localhost"],
	] {
		count(ingress_hosts.deny) == 1 with input as create([rule(pair[0], ["/"])])
			with data.cluster as cluster([rule(pair[1], ["/"])])
	}
	every pair in [
		["a.example.com", "b.example.com"],
		["a.b.example.com", "*.example.com"],
		["example.com", "*.example.com"],
		["*.b.example.com", "*.example.com"],
		["*.example.com", "*.example.org"],
		["localhost", "*.localhost"],
	] {
		ingress_hosts.deny == set() with input as create([rule(pair[0], ["/"])])
			with data.cluster as cluster([rule(pair[1], ["/"])])
	}
}

test_the_overlapping_host_is_named if {
	violations := ingress_hosts.deny with input as create([rule("a.example.com", ["/"])])
		with data.cluster as cluster([rule("*.example.com", ["/"])])
	{violation.msg | some violation in violations} == {concat(" ", [
		`host "a.example.com" with path "/" is taken by Ingress legacy/old (by "*.example.com"):`,
		"choose another host or path",
	])}
}

test_a_rule_without_host_is_for_every_host if {
	every host in ["", null, "a.example.com", "*.example.com"] {
		count(ingress_hosts.deny) == 1 with input as create([{"http": {"paths": [{"path": "/"}]}}])
			with data.cluster as cluster([rule(host, ["/"])])
		count(ingress_hosts.deny) == 1 with input as create([rule(host, ["/"])])
			with data.cluster as cluster([{"http": null}])
	}
}

test_what_has_no_path_has_all if {
	every paths in [[], [{}], [{"path": null}], [{"path": ""}]] {
		count(ingress_hosts.deny) == 1 with input as create([rule("shop.example.com", ["/"])])
			with data.cluster as cluster([{"host": "shop.example.com", "http": {"paths": paths}}])
	}
}

test_disjoint_paths_share_a_host if {
	every paths in [["/cart"], ["/cart", "/checkout/"], ["/carts"]] {
		ingress_hosts.deny == set() with input as create([rule("shop.example.com", ["/", "/account"])])
			with data.cluster as cluster([rule("shop.example.com", paths)])
	}
}

test_a_parameter_gives_a_host_to_one_ingress if {
	violations := ingress_hosts.deny with input as object.union(
		create([rule("shop.example.com", ["/", "/account"])]),
		{"parameters": {"hostSharing": "none"}},
	)
		with data.cluster as cluster([rule("shop.example.com", ["/cart", "/checkout"])])
	violations == {{
		"msg": `host "shop.example.com" is taken by Ingress legacy/old: choose another host`,
		"field": "spec.rules[0].host",
	}}
}

test_each_rule_is_judged if {
	violations := ingress_hosts.deny with input as create([rule("a.example.com", ["/"]), rule("b.example.com", [])])
		with data.cluster as cluster([rule("c.example.com", ["/"]), rule("b.example.com", ["/"])])
	{violation.field | some violation in violations} == {"spec.rules[1].host"}
}

test_an_ingress_is_no_rival_of_itself if {
	rules := [rule("shop.example.com", ["/"])]
	request := {"operation": "UPDATE", "namespace": "legacy", "object": {"spec": {"rules": rules}}}
	ingress_hosts.deny == set() with input as {"name": "old", "parameters": {}, "request": request}
		with data.cluster as cluster(rules)
	count(ingress_hosts.deny) == 1 with input as {"name": "new", "parameters": {}, "request": request}
		with data.cluster as cluster(rules)
}

test_an_update_that_leaves_the_hosts_alone_is_admitted if {
	spec := {"rules": [rule("shop.example.com", ["/"])]}
	request := {"operation": "UPDATE", "namespace": "shop", "object": {"spec": spec}, "oldObject": {"spec": spec}}
	ingress_hosts.deny == set() with input as {"name": "web", "parameters": {}, "request": request}
		with data.cluster as cluster(spec.rules)
}

test_missing_fields_take_nothing if {
	every spec in [{}, null, {"rules": null}, {"rules": []}, {"defaultBackend": {}}] {
		ingress_hosts.deny == set() with input as {
			"name": "web",
			"parameters": {},
			"request": {"operation": "CREATE", "namespace": "shop", "object": {"spec": spec}},
		}
			with data.cluster as cluster([rule("shop.example.com", ["/"])])
	}
	ingress_hosts.deny == set() with input as create([rule("shop.example.com", ["/"])])
		with data.cluster as {"Ingress.networking.k8s.io": {}}
}

create(rules) := {"name": "web", "parameters": {}, "request": {
	"operation": "CREATE",
	"namespace": "shop",
	"object": {"metadata": {"name": "web"}, "spec": {"rules": rules}},
}}

cluster(rules) := {"Ingress.networking.k8s.io": {"legacy": {"old": {"spec": {"rules": rules}}}}}

rule(host, paths) := {"host": host, "http": {"paths": [{"path": path} | some path in paths]}}
