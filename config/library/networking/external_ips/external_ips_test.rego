package library.external_ips_test

import rego.v1

import data.library.external_ips
import data.library.shared.testing

fields := {violation.field | some violation in external_ips.deny}

test_addresses if {
	service := {"spec": {"externalIPs": ["192.0.2.1", "192.0.2.2"]}}
	fields == {"spec.externalIPs[0]", "spec.externalIPs[1]"} with input as testing.object(service)
	request := object.union(testing.object(service), {"parameters": {"allowedExternalIPs": ["192.0.2.2"]}})
	fields == {"spec.externalIPs[0]"} with input as request
}
