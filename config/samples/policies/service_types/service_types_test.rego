package samples.service_types_test

import rego.v1

import data.samples.service_types

test_what_is_open_is_denied if {
	every type in ["LoadBalancer", "NodePort"] {
		violations := service_types.deny with input as service({"type": type}, null, {})
		violations == {{
			"msg": sprintf(
				`Service "web" is of type %v, which is not for namespace "shop": set spec.type to ClusterIP, and use an Ingress`,
				[type],
			),
			"field": "spec.type",
		}}
	}
}

test_what_leads_outside_is_denied if {
	violations := service_types.deny with input as service(
		{"type": "ExternalName", "externalName": "db.example.com"},
		null,
		{},
	)
	violations == {{
		"msg": concat(" ", [
			`Service "web" is another name of "db.example.com", and ExternalName is not for namespace "shop":`,
			"let clients use that name itself",
		]),
		"field": "spec.type",
	}}
}

test_foreign_addresses_are_denied if {
	violations := service_types.deny with input as service(
		{"type": "ClusterIP", "externalIPs": ["192.0.2.1", "192.0.2.2"]},
		{"type": "ClusterIP", "externalIPs": ["192.0.2.1"]},
		{},
	)
	violations == {{
		"msg": concat(" ", [
			`Service "web" takes the traffic to 192.0.2.2, and externalIPs are not for namespace "shop":`,
			"remove it from spec.externalIPs",
		]),
		"field": "spec.externalIPs[1]",
	}}
}

test_foreign_addresses_of_new_services_are_denied if {
	every old in [null, {}, {"type": "ClusterIP"}] {
		count(service_types.deny) == 1 with input as service({"type": "ClusterIP", "externalIPs": ["192.0.2.1"]}, old, {})
	}
}

test_an_update_to_another_type_is_denied if {
	every old in [{"type": "ClusterIP"}, {"type": "NodePort"}, {}, null] {
		count(service_types.deny) == 1 with input as service({"type": "LoadBalancer"}, old, {})
	}
	count(service_types.deny) == 1 with input as service(
		{"type": "ExternalName", "externalName": "evil.example.com"},
		{"type": "ExternalName", "externalName": "db.example.com"},
		{},
	)
}

test_what_was_there_before_stays if {
	every spec in [
		{"type": "LoadBalancer", "externalIPs": ["192.0.2.1"]},
		{"type": "NodePort"},
		{"type": "ExternalName", "externalName": "db.example.com"},
	] {
		service_types.deny == set() with input as service(spec, spec, {})
	}
}

test_parameters_name_namespaces if {
	every globs in [["shop"], ["sh*"], ["other", "*"]] {
		every spec in [
			{"type": "LoadBalancer"},
			{"type": "NodePort"},
			{"type": "ExternalName", "externalName": "db.example.com"},
			{"type": "ClusterIP", "externalIPs": ["192.0.2.1"]},
		] {
			service_types.deny == set() with input as service(spec, null, {"serviceTypes": {
				"LoadBalancer": globs,
				"NodePort": globs,
				"ExternalName": globs,
				"externalIPs": globs,
			}})
		}
	}
	every globs in [[], ["hop"], ["shop-*"], null] {
		parameters := {"serviceTypes": {"LoadBalancer": globs, "NodePort": ["*"]}}
		count(service_types.deny) == 1 with input as service({"type": "LoadBalancer"}, null, parameters)
	}
}

test_services_of_the_cluster_are_admitted if {
	every spec in [{"type": "ClusterIP"}, {"clusterIP": "None"}, {}, null, {"externalIPs": null}] {
		service_types.deny == set() with input as service(spec, null, {})
	}
	service_types.deny == set() with input as {"name": "web", "request": {"namespace": "shop", "object": null}}
}

service(spec, old, parameters) := {"name": "web", "parameters": parameters, "request": {
	"kind": {"group": "", "version": "v1", "kind": "Service"},
	"namespace": "shop",
	"object": {"metadata": {"name": "web"}, "spec": spec},
	"oldObject": {"metadata": {"name": "web"}, "spec": old},
}}
