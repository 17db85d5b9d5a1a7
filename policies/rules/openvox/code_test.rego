package openvox_test

import rego.v1

import data.openvox.config
import data.openvox.nodeclassifier
import data.openvox.server
import data.openvox.signingpolicy

code_denials(code) := config_denials({"code": code})

test_code if {
	every good in [
		{"image": "code:1"}, {"claimName": "code", "imagePullPolicy": "IfNotPresent"}, [], [{"image": "code:1"}],
		[{"image": "code:1", "environment": "production"}, {"claimName": "modules", "mountPath": "/etc/puppetlabs/code/modules"}],
	] {
		code_denials(good) == set()
		server_denials({"code": good}) == set()
	}
	every bad in ["code:1", 7] {
		code_denials(bad) == {"spec.code"}
	}
	code_denials({}) == {"spec.code"}
	code_denials({"image": "a", "claimName": "b"}) == {"spec.code"}
	code_denials({"imgae": "a", "image": "b"}) == {"spec.code.imgae"}
	code_denials(["x"]) == {"spec.code[0]"}
	code_denials([{"image": ""}]) == {"spec.code[0].image"}
	code_denials([{"image": "a", "imagePullPolicy": "Sometimes"}]) == {"spec.code[0].imagePullPolicy"}
	code_denials([{"image": "a", "environment": "e", "mountPath": "/etc/puppetlabs/code/x"}]) == {"spec.code[0]"}
	code_denials([{"image": "a", "environment": "a-b"}]) == {"spec.code[0].environment"}
	every path in ["/etc/puppetlabs/code", "/etc/puppetlabs/puppet", "modules", "/etc/puppetlabs/code/../puppet", "/etc/puppetlabs/code/a/"] {
		code_denials([{"image": "a", "mountPath": path}]) == {"spec.code[0].mountPath"}
	}
}

test_code_stored_before if {
	every code in [{"image": "a", "imagePullSecret": "", "environment": "", "mountPath": "", "imagePullPolicy": ""}, [{"image": "a", "environment": "e", "mountPath": ""}]] {
		code_denials(code) == set()
		server_denials({"code": code}) == set()
	}
	code_denials([{"image": "a", "environment": ""}, {"image": "b", "environment": "b"}]) == {"spec.code[0]"}
	code_denials([{"image": "a", "claimName": ""}]) == {"spec.code[0]", "spec.code[0].claimName"}

	# Unchanged, it holds up no other edit.
	before := {"spec": {"code": {"image": ""}}}
	edited := {"spec": {"code": {"image": ""}, "replicas": 1}}
	count(config.deny) == 0 with input as review(update(before, edited), {})
	fields(config.deny) == {"spec.code.image"} with input as review(update({"spec": {}}, edited), {})
	count(server.deny) == 0 with input as review(update(before, edited), {})
	fields(server.deny) == {"spec.code.image"} with input as review(update({"spec": {}}, edited), {})
	fields(server.deny) == {"spec.code.image"} with input as {"name": "x", "request": create(edited)}
}

test_code_overlaps if {
	code_denials([{"image": "a"}, {"image": "b", "environment": "b"}]) == {"spec.code[0]"}
	code_denials([{"image": "a", "environment": "e"}, {"image": "b", "environment": "e"}]) == {"spec.code[1]"}
	server_denials({"code": [{"image": "a", "environment": "e"}, {"image": "b", "environment": "e"}]}) == {"spec.code[1]"}
	deeper := {"image": "b", "mountPath": "/etc/puppetlabs/code/modules/b"}
	upper := {"image": "a", "mountPath": "/etc/puppetlabs/code/modules"}
	code_denials([upper, deeper]) == {"spec.code[1]"}
	code_denials([deeper, upper]) == {"spec.code[1]"}
	below := {"image": "b", "mountPath": "/etc/puppetlabs/code/environments/e/modules"}
	code_denials([{"image": "a", "environment": "e"}, below]) == {"spec.code[1]"}
	config_denials({"puppet": {"environmentPath": "$codedir/envs:/x"}, "code": [{"image": "a", "environment": "e"}, below]}) == set()
	code_denials([{"image": "x", "mountPath": sprintf("/etc/puppetlabs/code/%d", [i])} | some i in numbers.range(1, 33)]) == {"spec.code"}
}

test_commands if {
	config_denials({"puppet": {"autosignCommand": "/etc/puppetlabs/hooks/sign.sh", "externalNodesCommand": "/usr/bin/enc"}}) == set()
	config_denials({"nodeClassifierRef": "foreman", "puppet": {"autosignCommand": "", "externalNodesCommand": ""}}) == set()
	every path in ["sign.sh", "/a b", "/a/../b c", "/a\n[server]", "/a/"] {
		config_denials({"puppet": {"autosignCommand": path, "externalNodesCommand": path}}) == {"spec.puppet.autosignCommand", "spec.puppet.externalNodesCommand"}
	}
	config_denials({"nodeClassifierRef": "foreman", "puppet": {"externalNodesCommand": "/usr/bin/enc"}}) == {"spec.puppet.externalNodesCommand"}
	config_denials({"puppet": {"externalNodesCommand": "/usr/bin/enc", "extraConfig": {"server": {"node_terminus": "plain"}}}}) == {"spec.puppet.extraConfig.server.node_terminus"}
}

test_command_in_place_of_policies if {
	with_command := {"spec": {"authorityRef": "main", "puppet": {"autosignCommand": "/usr/bin/sign"}}}
	policies := {"facts": {"signingPolicies": ["any"]}}
	fields(config.deny) == {"spec.puppet.autosignCommand"} with input as review(create(with_command), policies)
	fields(config.deny) == {"spec.puppet.autosignCommand"} with input as review(update({"spec": {"authorityRef": "main"}}, with_command), policies)
	count(config.deny) == 0 with input as review(update(with_command, with_command), policies)
	count(config.deny) == 0 with input as review(create(with_command), {"facts": {"signingPolicies": null}})
	count(config.warn) == 1 with input as review(create(with_command), {})
	policy := {"spec": {"certificateAuthorityRef": "main", "any": true}}
	replaced := {"facts": {"autosignConfigs": ["c"]}}
	fields(signingpolicy.deny) == {"spec.certificateAuthorityRef"} with input as review(create(policy), replaced)
	count(signingpolicy.deny) == 0 with input as review(update(policy, policy), replaced)
	count(signingpolicy.deny) == 0 with input as review(create(policy), {})
}

test_paused if {
	annotated := {"metadata": {"annotations": {"openvox.voxpupuli.org/paused": "true"}}}
	count(signingpolicy.warn) == 1 with input as review(create(object.union(annotated, {"spec": {"certificateAuthorityRef": "main", "pattern": {"allow": ["a"]}}})), {})
	count(nodeclassifier.warn) == 1 with input as review(create(object.union(annotated, {"spec": {"url": "https://a"}})), {})
}
