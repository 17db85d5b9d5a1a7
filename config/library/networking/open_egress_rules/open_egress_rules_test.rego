package library.open_egress_rules_test

import rego.v1

import data.library.open_egress_rules
import data.library.shared.testing

fields := {violation.field | some violation in open_egress_rules.deny}

denied(rule) := found if {
	found := fields with input as testing.object({"spec": {"egress": [rule]}})
}

test_rules if {
	denied({}) == {"spec.egress[0].to"}
	denied({"to": [{"ipBlock": {"cidr": "::/0"}}]}) == {"spec.egress[0].to[0]"}
	denied({"to": [{"namespaceSelector": {}}]}) == {"spec.egress[0].to[0]"}
	denied({"to": [{"ipBlock": {"cidr": "10.0.0.0/8"}}]}) == set()
	denied({"to": [{"namespaceSelector": {}, "podSelector": {"matchLabels": {"app": "a"}}}]}) == set()
}

test_dns if {
	denied({"ports": [{"port": 53, "protocol": "UDP"}, {"port": 53, "protocol": "TCP"}]}) == set()
	denied({"ports": [{"port": 53, "endPort": 60}]}) == {"spec.egress[0].to"}
	denied({"ports": [{"port": 443}]}) == {"spec.egress[0].to"}
	denied({"ports": []}) == {"spec.egress[0].to"}
}
