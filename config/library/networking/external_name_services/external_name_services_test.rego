package library.external_name_services_test

import rego.v1

import data.library.external_name_services
import data.library.shared.testing

fields := {violation.field | some violation in external_name_services.deny}

test_names if {
	service := {"spec": {"type": "ExternalName", "externalName": "db.example.com"}}
	fields == {"spec.externalName"} with input as testing.object(service)
	request := object.union(testing.object(service), {"parameters": {"allowedExternalNames": ["db.example.com"]}})
	fields == set() with input as request
}
