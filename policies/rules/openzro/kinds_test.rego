package openzro.kinds_test

import rego.v1

import data.openzro.ozgroup
import data.openzro.ozhttproute
import data.openzro.oznetworkresource
import data.openzro.ozpolicy
import data.openzro.ozresource
import data.openzro.ozroutingpeer

fields(problems) := {p.field | some p in problems}

about(spec) := {"request": {"namespace": "team", "object": {"spec": spec}}, "facts": {}}

taken(spec) := object.union(about(spec), {"facts": {"taken": {"kind": "OZ", "name": "other"}}})

test_groups if {
	ozgroup.deny == set() with input as about({"name": "All"})
	fields(ozgroup.deny) == {"spec.name"} with input as about({"name": " "})
	fields(ozgroup.deny) == {"spec.name"} with input as taken({"name": "a"})
}

policy := {"name": "a", "sourceGroups": ["s"], "destinationGroups": ["d"], "ports": [22], "protocols": ["tcp"]}

test_policies if {
	ozpolicy.deny == set() with input as about(policy)
	ozpolicy.warn == set() with input as about(policy)
	fields(ozpolicy.deny) == {"spec.name"} with input as about(object.union(policy, {"name": ""}))
	fields(ozpolicy.deny) == {"spec.name"} with input as taken(policy)
	fields(ozpolicy.deny) == {"spec.sourceGroups[0]"} with input as about(object.union(policy, {"sourceGroups": [""]}))
	fields(ozpolicy.deny) == {"spec.destinationGroups[1]"} with input as about(object.union(policy, {"destinationGroups": ["d", "d"]}))
	fields(ozpolicy.deny) == {"spec.ports[0]"} with input as about(object.union(policy, {"ports": [0]}))
	fields(ozpolicy.deny) == {"spec.protocols[0]"} with input as about(object.union(policy, {"protocols": ["icmp"]}))
	fields(ozpolicy.deny) == {"spec.protocols[1]"} with input as about(object.union(policy, {"protocols": ["udp", "udp"]}))
}

test_wide_and_narrow_policies if {
	wide := object.union(policy, {"sourceGroups": ["All"], "destinationGroups": ["d", "All"]})
	ozpolicy.deny == set() with input as about(wide)
	count(ozpolicy.warn) == 1 with input as about(wide)
	count(ozpolicy.warn) == 3 with input as about({"name": "a"})
}

resource := {"name": "a", "networkID": "n", "address": "10.0.0.1", "groups": ["g"], "policyName": "p, q", "tcpPorts": [80], "udpPorts": [80]}

test_resources if {
	every address in ["10.0.0.1", "10.0.0.0/8", "*.example.com"] {
		ozresource.deny == set() with input as about(object.union(resource, {"address": address}))
		ozresource.warn == set() with input as about(object.union(resource, {"address": address}))
	}
	fields(ozresource.deny) == {"spec.name"} with input as about(object.union(resource, {"name": ""}))
	fields(ozresource.deny) == {"spec.name"} with input as taken(resource)
	fields(ozresource.deny) == {"spec.networkID"} with input as about(object.union(resource, {"networkID": ""}))
	fields(ozresource.deny) == {"spec.address"} with input as about(object.union(resource, {"address": "db"}))
	fields(ozresource.deny) == {"spec.groups[1]"} with input as about(object.union(resource, {"groups": ["g", "g"]}))
	fields(ozresource.deny) == {"spec.tcpPorts[0]"} with input as about(object.union(resource, {"tcpPorts": [65536]}))
	fields(ozresource.deny) == {"spec.udpPorts[1]"} with input as about(object.union(resource, {"udpPorts": [53, 53]}))
	every names in ["p,", "P", "p,p", "p q"] {
		fields(ozresource.deny) == {"spec.policyName"} with input as about(object.union(resource, {"policyName": names}))
	}
}

test_resources_that_nothing_leads_to if {
	count(ozresource.warn) == 2 with input as about(object.remove(resource, ["policyName"]))
	count(ozresource.warn) == 2 with input as about(object.union(resource, {"policySourceGroups": ["s"], "policyFriendlyName": {"p": "P"}}))
	count(ozresource.warn) == 1 with input as about(object.union(resource, {"address": "0.0.0.0/0"}))
}

test_routing_peers if {
	every spec in [{}, {
		"replicas": 1, "labels": {"team": "a", "example.com/b": ""}, "annotations": {"example.com/c": "any thing"},
		"volumes": [{"name": "v"}], "volumeMounts": [{"name": "v", "mountPath": "/v"}],
	}] {
		ozroutingpeer.deny == set() with input as about(spec)
		ozroutingpeer.warn == set() with input as about(spec)
	}
	count(ozroutingpeer.warn) == 1 with input as about({"replicas": 0})
	count(ozroutingpeer.warn) == 1 with input as about({"allowedNamespaces": ["*"]})
	ozroutingpeer.deny == set() with input as about({"dnsZoneRef": {"name": "prod.example.com"}, "allowedNamespaces": ["team-*", "shop"]})
	fields(ozroutingpeer.deny) == {"spec.dnsZoneRef.name"} with input as about({"dnsZoneRef": {"name": "prod"}})
	fields(ozroutingpeer.deny) == {"spec.allowedNamespaces[1]"} with input as about({"allowedNamespaces": ["a", "B"]})
	count(ozroutingpeer.warn) == 1 with input as about({"labels": {"app.kubernetes.io/name": "x"}})
	fields(ozroutingpeer.deny) == {"spec.labels"} with input as about({"labels": {"-a": "x"}})
	fields(ozroutingpeer.deny) == {"spec.labels[a]"} with input as about({"labels": {"a": "x y"}})
	fields(ozroutingpeer.deny) == {"spec.annotations"} with input as about({"annotations": {"a/b/c": "x"}})
	fields(ozroutingpeer.deny) == {"spec.annotations[openzro.io/setup-key]"} with input as about({"annotations": {"openzro.io/setup-key": "x"}})
	fields(ozroutingpeer.deny) == {"spec.annotations[deployment.kubernetes.io/revision]"} with input as about({"annotations": {"deployment.kubernetes.io/revision": "1"}})
	fields(ozroutingpeer.deny) == {"spec.volumeMounts[0].name"} with input as about({"volumeMounts": [{"name": "v", "mountPath": "/v"}]})
}

template(metadata, pod) := {"podTemplate": {"metadata": metadata, "spec": pod}}

client_with(fields) := template({}, {"containers": [object.union({"name": "openzro"}, fields)]})

test_pod_templates if {
	plain := template({"labels": {"a": "b"}, "annotations": {"c": "d"}}, {
		"affinity": {}, "tolerations": [], "nodeSelector": {"a": "b"}, "topologySpreadConstraints": [],
		"containers": [{"name": "openzro", "resources": {}, "env": [{"name": "A", "value": "b"}]}],
	})
	ozroutingpeer.deny == set() with input as about(plain)
	every name, spec in {
		"metadata.finalizers": template({"finalizers": ["a"]}, {}),
		"spec.volumes": template({}, {"volumes": [{"name": "v", "hostPath": {"path": "/"}}]}),
		"spec.hostNetwork": template({}, {"hostNetwork": true}),
		"spec.serviceAccountName": template({}, {"serviceAccountName": "admin"}),
		"spec.$patch": template({}, {"$patch": "replace"}),
		"spec.initContainers": template({}, {"initContainers": []}),
		"spec.containers": template({}, {"containers": {"a": "b"}}),
		"spec.containers[0].name": template({}, {"containers": [{"name": "other"}]}),
		"spec.containers[0].image": client_with({"image": "evil"}),
		"spec.containers[0].envFrom": client_with({"envFrom": []}),
		"spec.containers[0].securityContext": client_with({"securityContext": {"privileged": true}}),
		"spec.containers[0].env[1]": client_with({"env": [{"name": "A"}, {"name": "B", "valueFrom": {"secretKeyRef": {"name": "openzro-mgmt-api-key", "key": "OZ_API_KEY"}}}]}),
		"spec.containers[0].env[0]": client_with({"env": [{"name": "A", "value": {"a": "b"}}]}),
		"spec": {"podTemplate": {"spec": "x"}},
	} {
		fields(ozroutingpeer.deny) == {sprintf("spec.podTemplate.%s", [name])} with input as about(spec)
		ozroutingpeer.deny == set() with input as object.union(about(spec), {"facts": {"podTemplates": true}})
	}
	fields(ozroutingpeer.deny) == {"spec.podTemplate.spec.containers", "spec.podTemplate.metadata"} with input as about(template("x", {"containers": ["b"]}))
	enrols := client_with({"env": [{"name": "OZ_SETUP_KEY", "value": "x"}]})
	fields(ozroutingpeer.deny) == {"spec.podTemplate.spec.containers[0].env[0]"} with input as object.union(about(enrols), {"facts": {"podTemplates": true}})
	fields(ozroutingpeer.deny) == {"spec.podTemplate.metadata.annotations[openzro.io/setup-key]"} with input as about(template({"annotations": {"openzro.io/setup-key": "x"}}, {}))
	count(ozroutingpeer.warn) == 1 with input as about(template({"labels": {"app.kubernetes.io/name": "x"}}, {}))
}

network_resource := {"routingPeerRef": {"name": "r"}, "serviceRef": {"name": "s"}, "groups": ["g"]}

test_network_resources if {
	oznetworkresource.deny == set() with input as about(network_resource)
	oznetworkresource.warn == set() with input as about(network_resource)
	count(oznetworkresource.warn) == 1 with input as about(object.remove(network_resource, ["groups"]))
	fields(oznetworkresource.deny) == {"spec.groups[0]"} with input as about(object.union(network_resource, {"groups": [""]}))
	fields(oznetworkresource.deny) == {"spec.routingPeerRef.name"} with input as about(object.union(network_resource, {"routingPeerRef": {"name": ""}}))
	fields(oznetworkresource.deny) == {"spec.routingPeerRef.namespace"} with input as about(object.union(network_resource, {"routingPeerRef": {"namespace": "A b"}}))
	fields(oznetworkresource.deny) == {"spec.groupIDs[1]"} with input as about(object.union(network_resource, {"groupIDs": ["a", "a"]}))
	oznetworkresource.deny == set() with input as about(object.union(network_resource, {"routingPeerRef": {"namespace": "other"}, "groupIDs": ["a"]}))
	fields(oznetworkresource.deny) == {"spec.serviceRef.name"} with input as about(object.remove(network_resource, ["serviceRef"]))
}

target(name, path) := {"networkResourceRef": {"name": name}, "path": path}

route(targets) := {"domain": "app.example.com", "targets": targets}

test_routes if {
	ozhttproute.deny == set() with input as about(route([target("a", "/"), target("b", "/b")]))
	fields(ozhttproute.deny) == {"spec.domain"} with input as about({"domain": "app"})
	fields(ozhttproute.deny) == {"spec.domain"} with input as taken(route([]))
	fields(ozhttproute.deny) == {"spec.targets[0].path"} with input as about(route([target("a", "b")]))
	fields(ozhttproute.deny) == {"spec.targets[1].path"} with input as about(route([{"networkResourceRef": {"name": "a"}}, target("b", "/")]))
	fields(ozhttproute.deny) == {"spec.targets[0].networkResourceRef.name"} with input as about(route([target("", "/")]))
}
