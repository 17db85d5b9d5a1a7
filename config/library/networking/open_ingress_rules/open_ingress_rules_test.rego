package library.open_ingress_rules_test

import rego.v1

import data.library.open_ingress_rules
import data.library.shared.testing

fields := {violation.field | some violation in open_ingress_rules.deny}

denied(rule) := found if {
	found := fields with input as testing.object({"spec": {"ingress": [rule]}})
}

test_rules if {
	denied({}) == {"spec.ingress[0].from"}
	denied({"from": []}) == {"spec.ingress[0].from"}
	denied({"from": [{"ipBlock": {"cidr": "0.0.0.0/0"}}]}) == {"spec.ingress[0].from[0]"}
	denied({"from": [{"namespaceSelector": {}}]}) == {"spec.ingress[0].from[0]"}
	denied({"from": [{"ipBlock": {"cidr": "0.0.0.0/0", "except": ["10.0.0.0/8"]}}]}) == set()
	denied({"from": [{"podSelector": {}}]}) == set()
	denied({"from": [{"namespaceSelector": {}, "podSelector": {"matchLabels": {"app": "a"}}}]}) == set()
}
